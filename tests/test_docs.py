"""What the pages name is there, and what is there they name."""

import re
import subprocess
from pathlib import Path

import pytest

from compute.jobs.definition import KINDS
from tests.tours.pages import PAGES, ROOT

DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)#:]*)(?:#([^):]*))?\)")
FILE = re.compile(r"`((?:accounts|compute|config|docs|managed|regions|tags|tests)/[\w/.]+)`")
BASH = re.compile(r"^ *```bash\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
VARIABLE = re.compile(r'env\.\w+\(\s*"([A-Z_0-9]+)"')


def anchors(page: Path) -> set[str]:
    """What links within a page name its headings by."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_leads_to_what_is_there(page):
    for path, anchor in LINK.findall(page.read_text()):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"
    for path in FILE.findall(page.read_text()):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_what_is_to_be_typed_is_shell(page):
    for block in BASH.findall(page.read_text()):
        done = subprocess.run(["bash", "-n"], input=block, text=True, capture_output=True)
        assert not done.stderr, block


def test_the_index_has_every_page():
    index = PAGES["README.md"].read_text()
    assert [name for name in PAGES if Path(name).parent == Path("docs") and f"({name})" not in index] == []


def test_the_operator_is_told_of_every_variable():
    source = "".join((ROOT / "config" / name).read_text() for name in ("settings.py", "openid.py"))
    page = (DOCS / "operating.md").read_text()
    assert {name for name in VARIABLE.findall(source) if f"`{name}`" not in page} == set()


def test_the_table_of_jobs_has_every_kind():
    page = (DOCS / "jobs.md").read_text()
    assert {name for name in KINDS if f"`{name}`" not in page} == set()
