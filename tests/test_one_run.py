"""Two runs of the tests on one folder or database would destroy each other's data. The second stops at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin_embedded import ROOT, alone

TRY = """\
import sys
from pathlib import Path
import pytest
from tests.plugin_embedded import alone
try:
    with alone(Path(sys.argv[1]), "the folder"):
        print("alone")
except pytest.UsageError as error:
    print(error)
"""


def another(path: Path) -> str:
    """Try the lock in another process, and return its output."""
    done = subprocess.run(
        [sys.executable, "-c", TRY, path], cwd=ROOT, capture_output=True, text=True, timeout=300, check=True
    )
    return done.stdout


def test_a_second_run_on_the_same_is_refused_with_a_line_until_the_first_ends(tmp_path):
    path = tmp_path / "new" / "tests.lock"
    with alone(path, "the folder"):
        message = another(path)
        assert message.startswith("Another run of the tests is on the folder: wait for it, or give")
        assert message.count("\n") == 1
    assert another(path) == "alone\n"


def test_this_run_holds_the_lock_of_its_folder():
    """Any process of the run. With xdist the first process has the lock, and its workers run the tests."""
    path = Path(os.environ["STATE_DIR"]) / "tests.lock"
    message = another(path)
    assert message.startswith("Another run of the tests is on ")


@pytest.mark.parametrize("name", ["tests.lock", "another.lock"])
def test_runs_in_separate_folders_do_not_disturb_each_other(tmp_path, name):
    with alone(tmp_path / "one" / "tests.lock", "one"):
        assert another(tmp_path / "other" / name) == "alone\n"
