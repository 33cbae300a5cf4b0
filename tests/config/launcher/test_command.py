"""The command ``skerry``: its arguments. tests/system/test_package.py runs it from a wheel."""

import os
import sys

import pytest

import manage
from config.launcher import command


@pytest.fixture
def given(monkeypatch, tmp_path):
    """Return a function that runs the command with arguments, for an application in a folder of its own."""
    monkeypatch.setattr(command, "APP", tmp_path / "app")
    (tmp_path / "app").mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'app'}{os.pathsep}/other")
    monkeypatch.setenv("SKERRY_STARTED_IN", "/earlier")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> None:
        monkeypatch.setattr(sys, "argv", ["/bin/skerry", *arguments])
        command.main()

    return run


@pytest.mark.parametrize("arguments", [(), ("help",), ("--help",), ("-h",)])
def test_the_usage_names_every_command(given, capsys, arguments):
    given(*arguments)
    usage = capsys.readouterr().out
    assert usage.startswith("usage: skerry COMMAND")
    for name in ("serve", "manage", "granian", "celery", "--version"):
        assert f"\n  skerry {name} " in usage


def test_an_unknown_command_is_named(given, capsys):
    with pytest.raises(SystemExit) as ended:
        given("migrate", "--plan")
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("There is no command skerry migrate. `skerry --help`")


def test_the_version_is_that_of_the_installed_package(given, capsys, monkeypatch):
    monkeypatch.setattr(command, "version", {"skerry": "1.2.3"}.__getitem__)
    given("--version")
    assert capsys.readouterr().out == "1.2.3\n"


@pytest.mark.parametrize(
    ("arguments", "argv"),
    [
        (("serve", "--port", "9000"), ["skerry manage", "serve", "--port", "9000"]),
        (("manage", "migrate", "--plan"), ["skerry manage", "migrate", "--plan"]),
        (("manage",), ["skerry manage"]),
    ],
)
def test_commands_of_django_run_in_this_process_with_the_application_first(
    given, monkeypatch, tmp_path, arguments, argv
):
    seen = []
    monkeypatch.setattr(manage, "main", lambda: seen.append([*sys.argv]))
    given(*arguments)
    assert seen == [argv]
    assert sys.path[0] == str(tmp_path / "app")
    assert os.environ["PYTHONPATH"] == f"{tmp_path / 'app'}{os.pathsep}/other"
    assert os.environ["SKERRY_STARTED_IN"] == str(tmp_path)


@pytest.mark.parametrize("program", ["celery", "granian"])
def test_programs_replace_this_process_in_the_same_folder(given, monkeypatch, tmp_path, program):
    seen = []
    monkeypatch.setattr(os, "execv", lambda path, words: seen.append((path, words, os.getcwd())))
    given(program, "-A", "config")
    words = [sys.executable, "-P", "-m", "config.preload", program, "-A", "config"]
    assert seen == [(sys.executable, words, str(tmp_path))]
    assert os.environ["SKERRY_STARTED_IN"] == str(tmp_path)
