"""A browser without a network, for the tests of the built book."""

import shutil

import pytest
from playwright.sync_api import sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("needs a browser: apt-get install chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM)
        context = chromium.new_context(
            offline=True,
            reduced_motion="reduce",
            viewport={"width": 1280, "height": 900},
        )
        context.set_default_timeout(120_000)
        yield context
        chromium.close()
