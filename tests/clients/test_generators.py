"""Client generators accept the OpenAPI document without options, and without a warning except for pictures."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.client import DOCUMENT
from tests.clients.conftest import BIN, HERE, run
from tests.tours.pages import ROOT, blocks_for, replaced

pytestmark = pytest.mark.clients

THUMBNAIL = "/v4/account/oauth-clients/{id}/thumbnail"
COMPILER = (
    "--strict", "--skipLibCheck", "--target", "es2022", "--lib", "es2022,dom,dom.iterable", "--module", "commonjs",
    "--moduleResolution", "node10", "--ignoreDeprecations", "5.0",
)  # fmt: skip


PYTHON, TYPESCRIPT, OURS = blocks_for(__file__)


@pytest.fixture(scope="module")
def typed(tmp_path_factory) -> Callable[[str], tuple[Path, str]]:
    """Return a function that types a page's block into a shell in a new folder. It returns the folder and the
    output."""

    def type_(text: str) -> tuple[Path, str]:
        folder = tmp_path_factory.mktemp("typed")
        (folder / "docs").mkdir()
        shutil.copy(DOCUMENT, folder / "docs")
        done = run("sh", "-e", "-c", text, cwd=folder)
        assert done.returncode == 0, done.stdout
        return folder, done.stdout

    return type_


@pytest.fixture(scope="module")
def python_client(typed) -> tuple[Path, str]:
    folder, output = typed(PYTHON)
    return folder / "skerry-client", output


@pytest.fixture(scope="module")
def typescript_client(node, typed) -> tuple[Path, str]:
    return typed(replaced(TYPESCRIPT, {"npx ": f"{BIN}/"}))


def test_the_python_client_lacks_the_thumbnail_alone(python_client):
    _, output = python_client
    warned = re.findall(r"WARNING parsing (\w+ \S+)", output)
    assert warned == [f"GET {THUMBNAIL}", f"PUT {THUMBNAIL}"], output


def test_the_typescript_client_lacks_nothing(typescript_client):
    _, output = typescript_client
    assert not re.search(r"warn|error", output, re.IGNORECASE), output


def test_the_types_are_those_of_the_document(node, typescript_client):
    folder, _ = typescript_client
    (folder / "src" / "used.ts").write_text(
        "import type { components } from './skerry';\n"
        "type Instance = components['schemas']['Instance'];\n"
        "export const running = (one: Instance): boolean => one.status === 'running' && one.id > 0;\n"
    )
    checked = node("tsc", "--noEmit", *COMPILER, folder / "src" / "used.ts")
    assert checked.returncode == 0, checked.stdout


def test_a_program_in_python_works_with_its_client(python_client, server):
    folder, _ = python_client
    done = run("python", HERE / "with_python.py", PYTHONPATH=str(folder), URL=server.url, TOKEN=server.token)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("done\n")


def test_a_program_in_typescript_works_with_its_client(node, typescript_client, server):
    folder, _ = typescript_client
    source = shutil.copy(HERE / "with_typescript.ts", folder / "src")
    compiled = node("tsc", *COMPILER, "--outDir", folder / "compiled", source)
    assert compiled.returncode == 0, compiled.stdout
    done = run("node", folder / "compiled" / "with_typescript.js", URL=server.url, TOKEN=server.token)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("done\n")


def test_make_has_the_targets_of_the_page():
    for line in OURS.splitlines():
        done = run("make", "--dry-run", "--directory", ROOT, *line.split("#")[0].split()[1:])
        assert done.returncode == 0, done.stdout
