"""Folders and commands of the source tree, and of an installed package."""

from pathlib import Path

import pytest

from config.environment import places
from config.environment.variables import BadVariable, Environment


@pytest.fixture
def package(monkeypatch):
    """The application is installed as a package, and was started in a folder."""
    monkeypatch.setattr(places, "INSTALLED", True)
    monkeypatch.setenv("SKERRY_STARTED_IN", "/started")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/somebody")


@pytest.fixture
def homeless(monkeypatch):
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)


def test_this_is_the_source_tree():
    assert not places.INSTALLED
    assert places.MANAGE == "manage.py"
    assert places.default_state() == places.ROOT / ".state"
    assert places.starting_folder() == places.ROOT
    assert places.serve_command() == "make serve"
    assert places.serve_command(PORT=8001) == "make serve PORT=8001"


@pytest.mark.usefixtures("package")
def test_a_package_keeps_its_data_with_its_user(monkeypatch):
    assert places.default_state() == Path("/home/somebody/.local/state/skerry")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert places.default_state() == Path("/home/somebody/.local/state/skerry")
    monkeypatch.setenv("XDG_STATE_HOME", "/data")
    assert places.default_state() == Path("/data/skerry")


@pytest.mark.usefixtures("package")
def test_relative_paths_of_a_package_start_where_it_was_started(monkeypatch, tmp_path):
    monkeypatch.setenv("STATIC_ROOT", "files")
    assert Environment().folder("STATIC_ROOT", Path()) == Path("/started/files")
    monkeypatch.delenv("SKERRY_STARTED_IN")
    monkeypatch.chdir(tmp_path)
    assert Environment().folder("STATIC_ROOT", Path()) == tmp_path / "files"


@pytest.mark.usefixtures("package")
def test_messages_of_a_package_name_its_command():
    assert places.serve_command() == "skerry serve"
    assert places.serve_command(STATE_DIR="here", PORT=8001) == "STATE_DIR=here PORT=8001 skerry serve"


@pytest.mark.usefixtures("package", "homeless")
def test_a_user_without_a_home_folder_must_name_the_state_folder(monkeypatch):
    monkeypatch.setenv("STATE_DIR", "/data")
    assert Environment().state_folder("STATE_DIR") == Path("/data")
    monkeypatch.delenv("STATE_DIR")
    with pytest.raises(BadVariable, match="STATE_DIR: is needed, because this user has no home folder"):
        Environment().state_folder("STATE_DIR")
