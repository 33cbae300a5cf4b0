"""The docs as a site opened from the disk: it builds without a warning, has a search, and needs no network."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.browser.visitor import SECONDS

pytestmark = pytest.mark.browser

DOCS = Path(settings.BASE_DIR) / "docs"
LOADED = re.compile(
    r"<(?:script|img|iframe|link(?! rel=\"(?:index|search|next|prev))) [^>]*?(?:src|href)=\"([^\"]*)\""
)
IN_STYLES = re.compile(r"(?:url\(|@import )[\"']?((?:https?:)?//[^)\"']*)")
DESKTOP, PHONE = 1400, 420


def photograph(driver: webdriver.Chrome, width: int) -> None:
    """Set the width of the window in CSS pixels."""
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The site as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("docs")
    command = ["sphinx", "--quiet", "--fail-on-warning", "--nitpicky", "-d", folder / "read", DOCS, folder / "site"]
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True)
    assert (done.stderr, done.returncode) == ("", 0)
    return folder / "site"


def test_each_page_of_the_docs_is_one_of_the_site(built):
    wanted = {page.relative_to(DOCS).with_suffix(".html") for page in DOCS.rglob("*.md")}
    assert wanted - {page.relative_to(built) for page in built.rglob("*.html")} == set()


def test_nothing_is_loaded_from_elsewhere(built):
    pages = {page: LOADED.findall(page.read_text()) for page in built.rglob("*.html")}
    assert all(pages.values())
    assert [(page.name, each) for page, found in pages.items() for each in found if "//" in each] == []
    styles = [*(built / "_static").rglob("*.css")]
    assert styles
    assert [(style.name, each) for style in styles for each in IN_STYLES.findall(style.read_text())] == []


def test_a_word_is_found_without_a_server(chromium: webdriver.Chrome, built):
    photograph(chromium, DESKTOP)
    chromium.get((built / "index.html").as_uri())
    field = chromium.find_element(By.CSS_SELECTOR, "input[name=q]")
    field.send_keys("maintenance")
    field.submit()
    found = WebDriverWait(chromium, SECONDS).until(
        lambda driver: driver.find_elements(By.CSS_SELECTOR, "#search-results li a")
    )
    assert found[0].get_attribute("href").startswith(built.as_uri())
    WebDriverWait(chromium, SECONDS).until(
        lambda driver: "Operating Skerry" in driver.find_element(By.ID, "search-results").text
    )


def test_each_page_fits_a_phone(chromium: webdriver.Chrome, built):
    """Tables and blocks scroll by themselves. The page does not."""
    photograph(chromium, PHONE)
    wide = {}
    for page in sorted(built.rglob("*.html")):
        chromium.get(page.as_uri())
        width = chromium.execute_script("return document.documentElement.scrollWidth")
        if width > PHONE:
            wide[page.name] = width
    assert wide == {}


def test_pages_go_on_with_files_of_other_folders(built):
    start, api = ((built / name).read_text() for name in ("start.html", "api.html"))
    assert "Five minutes with curl" in start
    assert 'href="operating.html#variables"' in (built / "operator-guide.html").read_text()
    assert 'href="start.html#for-real"' in (built / "operating.html").read_text()
    assert "Scopes and grants" in api
