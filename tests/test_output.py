"""A run with failed tests prints all tracebacks, then the output of the failed tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin_embedded import ROOT

TESTS = """\
import logging
import sys

logging.getLogger().addHandler(logging.StreamHandler(sys.stderr))

def work(name):
    print(f"printed by {name}")
    logging.warning(f"logged by {name}")

def test_first():
    work("first")
    assert "first" == ""

def test_second():
    work("second")
    assert "second" == ""

def test_third():
    work("third")
"""


def run(folder: Path, *options: str) -> str:
    """Return what a run of `TESTS` prints."""
    (folder / "test_it.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p tests.plugin_output -ra\n")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:django", "-c", "pytest.ini", *options, "test_it.py"],
        cwd=folder,
        env=inherited | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["one process", "a worker"])
def test_all_tracebacks_come_before_the_output_of_failed_tests(tmp_path, options):
    out = run(tmp_path, *options)
    places = [
        out.index(text)
        for text in (
            'assert "first" == ""',
            'assert "second" == ""',
            "OUTPUT OF FAILED TESTS",
            "Captured stdout call of test_it.py::test_first",
            "printed by first\n",
            "Captured stderr call of test_it.py::test_first",
            "logged by first\n",
            "printed by second\n",
            "logged by second\n",
            "FAILED test_it.py::test_first",
        )
    ]
    assert places == sorted(places)
    assert out.count("logged by first\n") == out.count("printed by first\n") == 1
    assert "by third\n" not in out


def test_the_option_of_pytest_chooses_the_output(tmp_path):
    assert "OUTPUT" not in run(tmp_path, "--show-capture=no")
    only = run(tmp_path, "--show-capture=stderr")
    assert "logged by first\n" in only
    assert "printed by first\n" not in only


def test_a_run_that_shows_passed_tests_keeps_the_order_of_pytest(tmp_path):
    out = run(tmp_path, "-rP")
    assert out.index("printed by first\n") < out.index('assert "second" == ""')
    assert "printed by third\n" in out
    assert "OUTPUT" not in out
