"""Links, names and commands of the documents exist, and every page, variable and command is documented."""

import ast
import builtins
import re
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from compute.jobs.definition import KINDS
from tests.imports import APPS
from tests.tours.pages import PAGES, ROOT

DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)#:]*)(?:#([^):]*))?\)")
FILE = re.compile(r"`((?:accounts|compute|config|docs|managed|regions|tags|tests)/[\w/.]+)`")
BASH = re.compile(r"^ *```bash\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
VARIABLE = re.compile(r'env\.\w+\(\s*"([A-Z_0-9]+)"')


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_links_of_a_page_exist(page):
    for path, anchor in LINK.findall(CODE.sub("", page.read_text())):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"
    for path in FILE.findall(page.read_text()):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_blocks_to_type_are_valid_shell(page):
    for block in BASH.findall(page.read_text()):
        done = subprocess.run(["bash", "-n"], input=block, text=True, capture_output=True)
        assert not done.stderr, block


def named_in(tree: ast.AST) -> set[str]:
    """Return the names that a block defines or imports. Methods count, because actions have their services'
    names."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def imported_by(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the modules that a block imports, each with an imported name or an empty one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


@pytest.mark.parametrize("page", [name for name, page in PAGES.items() if PYTHON.search(page.read_text())])
def test_python_on_a_page_uses_existing_names(page):
    trees = [ast.parse(block) for block in PYTHON.findall(PAGES[page].read_text())]
    for module, name in (each for tree in trees for each in imported_by(tree)):
        found = import_module(module)
        assert not name or hasattr(found, name), f"{page}: there is no {name} in {module}"
    known = set(dir(builtins)).union(*map(named_in, trees))
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = {node.func.id for node in nodes if isinstance(node.func, ast.Name)}
    unknown = sorted(called - known)
    assert not unknown, f"{page}: no block of it imports or defines {', '.join(unknown)}"


def test_the_index_has_every_page():
    index = PAGES["README.md"].read_text()
    assert [name for name in PAGES if Path(name).parent == Path("docs") and f"({name})" not in index] == []


def test_every_variable_is_documented():
    source = "".join((ROOT / "config" / name).read_text() for name in ("settings.py", "environment/openid.py"))
    page = (DOCS / "operating.md").read_text()
    assert {name for name in VARIABLE.findall(source) if f"`{name}`" not in page} == set()


def test_every_command_is_documented():
    page = (DOCS / "operating.md").read_text()
    files = (path for app in (*APPS, "config") for path in (ROOT / app).glob("management/commands/[a-z]*.py"))
    commands = {path.stem for path in files}
    assert {"seed", "serve"} < commands
    assert {name for name in commands if f"`manage.py {name}" not in page} == set()


def test_the_table_of_jobs_has_every_kind():
    page = (DOCS / "jobs.md").read_text()
    assert {name for name in KINDS if f"`{name}`" not in page} == set()
    assert {name for name, kind in KINDS.items() if (f"*`{name}`*" in page) != kind.interactive} == set()


def test_the_table_of_jobs_has_the_steps_of_every_kind():
    table = (DOCS / "jobs.md").read_text().split("## The kinds")[1]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith(("| `", "| *`"))]
    steps = {name: row[-1].strip() for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    assert steps == {name: ", ".join(step.name for step in kind.steps) for name, kind in KINDS.items()}
