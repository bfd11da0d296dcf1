"""Pack what a class needs into one archive, without solutions.

Usage: python tools/kit.py

The student edition of the notebooks, which `make book` wrote, and the package, so that
nothing has to be fetched but other people's packages.
"""

import os
import re
import shutil
from pathlib import Path

from flit_core.buildapi import build_wheel

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "_build"
NAME = "pseudopost-course"


def main():
    folder = BUILD / "kit" / NAME
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(BUILD / "editions" / "student", folder)
    os.chdir(ROOT)
    wheel = build_wheel(folder)
    requirements = folder / "requirements.txt"
    text = re.sub(
        r"^pseudopost @.*$", f"./{wheel}", requirements.read_text(), flags=re.M
    )
    requirements.write_text(text)
    archive = shutil.make_archive(BUILD / NAME, "zip", folder.parent, NAME)
    print(f"{archive}: {Path(archive).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
