"""Run a part of a target, and say at the end how long each part took.

Usage: python tools/timed.py start
       python tools/timed.py PART COMMAND [ARGUMENT ...]
       python tools/timed.py report
"""

import subprocess
import sys
import time
from pathlib import Path

PARTS = Path(__file__).parents[1] / "_build" / "parts.txt"


def main(part, *command):
    if part == "start":
        PARTS.parent.mkdir(exist_ok=True)
        PARTS.write_text("")
    elif part == "report":
        print(PARTS.read_text(), end="")
    else:
        start = time.monotonic()
        status = subprocess.run(command, check=False).returncode
        minutes, seconds = divmod(round(time.monotonic() - start), 60)
        how = "failed" if status else "passed"
        with PARTS.open("a") as file:
            file.write(f"{part + ':':20} {how} after {minutes} min {seconds:02d} s\n")
        sys.exit(status)


if __name__ == "__main__":
    main(*sys.argv[1:])
