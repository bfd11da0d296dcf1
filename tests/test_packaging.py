"""What a packager gets: a wheel with the package alone, and a source archive with its tests."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
import yaml
from flit_core.sdist import SdistBuilder
from flit_core.wheel import make_wheel_in

import pseudopost as pp

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MODULES = {f"pseudopost/{path.name}" for path in (ROOT / "pseudopost").glob("*.py")}
# What only the repository has.
OF_THE_BOOK = re.compile(r'"(book|tools|\.github|Makefile|README\.md)"|your_own_data')


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    return make_wheel_in(ROOT / "pyproject.toml", folder).file


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    archive = SdistBuilder.from_ini_path(ROOT / "pyproject.toml").build(folder)
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return folder / f"pseudopost-{pp.__version__}"


def files_in(folder):
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_wheel_holds_the_package_alone(wheel):
    assert wheel.name == f"pseudopost-{pp.__version__}-py3-none-any.whl"
    info = f"pseudopost-{pp.__version__}.dist-info"
    names = set(zipfile.ZipFile(wheel).namelist())
    assert names == MODULES | {
        f"{info}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "licenses/LICENSE")
    }


def test_metadata_of_the_wheel(wheel):
    info = f"pseudopost-{pp.__version__}.dist-info/METADATA"
    metadata = Parser().parsestr(zipfile.ZipFile(wheel).read(info).decode())
    assert metadata["Version"] == pp.__version__
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    urls = dict(url.split(", ") for url in metadata.get_all("Project-URL"))
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    repository = config["repository"]["url"]
    assert urls["Source"] == urls["Homepage"] == repository
    assert urls["Issues"] == f"{repository}/issues"
    assert urls["Changelog"] == f"{repository}/blob/main/CHANGELOG.md"
    owner, name = repository.split("/")[-2:]
    assert urls["Documentation"] == f"https://{owner}.github.io/{name}/"


def test_sdist_has_what_a_packager_expects(sdist):
    found = files_in(sdist)
    beside = {name for name in found if not name.startswith(("pseudopost/", "tests/"))}
    assert beside == {
        "CHANGELOG.md",
        "CITATION.cff",
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "SECURITY.md",
        "book/_static/idea.png",
        "data/ce2014q1.csv.gz",
        "data/ce2016q1.csv.gz",
        "data/p3_table1_sample.csv",
        "pyproject.toml",
    }
    assert {name for name in found if name.startswith("pseudopost/")} == MODULES
    assert {"tests/conftest.py", "tests/test_risk.py"} <= found
    assert not [name for name in found if "__pycache__" in name]


def test_tests_of_the_sdist_need_nothing_of_the_book(sdist):
    for path in sorted((sdist / "tests").rglob("*.py")):
        found = OF_THE_BOOK.search(path.read_text())
        assert not found, f"exclude {path.name} in pyproject.toml: it has {found[0]}"


@pytest.mark.slow
def test_tests_of_the_sdist_can_be_collected(sdist):
    # Away from the checkout, so that nothing of it is found.
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider"],
        cwd=sdist,
        env=os.environ | {"PYTHONPATH": str(sdist)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-2000:]


def test_changelog_has_the_version():
    headings = re.findall(
        r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), flags=re.M
    )
    assert headings[0] == "Unreleased"
    assert pp.__version__ in headings


def test_links_of_the_readme_lead_somewhere():
    for name in ("README.md", "CONTRIBUTING.md"):
        links = re.findall(r"\]\(([^)#]+)\)", (ROOT / name).read_text())
        for link in links:
            assert link.startswith("https://") or (ROOT / link).exists(), link
