"""The parts of ``make serve EPHEMERAL=1`` (tests/system/test_ephemeral.py runs it)."""

import os
import signal
import tempfile
from pathlib import Path

import pytest

from config.environment.variables import BadVariable
from config.laptop.embedded import EmbeddedError, Valkey
from config.laptop.serving import ephemeral
from config.laptop.serving.address import LOCK_FILE
from config.laptop.serving.lock import state_locked

SERVE = ["manage.py", "serve"]


@pytest.fixture(autouse=True)
def clean(monkeypatch, tmp_path):
    """An environment without the variables that it refuses, and with folders of the test's own."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    for name in (*ephemeral.OF_OTHERS, "PORT", "DRIVER_SCALE"):
        os.environ.pop(name, None)
    os.environ |= {"EPHEMERAL": "1", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    ephemeral._template.cache_clear()
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def test_its_folder_and_port_are_new_and_the_folder_goes():
    with ephemeral.temporary_folder(SERVE):
        folder, port = Path(os.environ["STATE_DIR"]), int(os.environ["PORT"])
        assert folder.is_dir()
        assert os.environ["DRIVER_SCALE"] == "0"
        (folder / "file").touch()
    assert port > 1023
    assert not folder.exists()


@pytest.fixture
def template() -> Path:
    found = ephemeral._template()
    found.mkdir(parents=True)
    (found / "PG_VERSION").write_text("18")
    return found


def test_the_copy_of_the_template_begins_with_the_folder(template):
    with ephemeral.temporary_folder(SERVE):
        folder = Path(os.environ["STATE_DIR"])
        assert ephemeral.early_copy.wait()
        assert (folder / "postgres" / "PG_VERSION").read_text() == "18"
    assert not folder.exists()


@pytest.fixture
def endless_copy(tmp_path) -> None:
    program = tmp_path / "bin" / "cp"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec tail -f /dev/null\n")
    program.chmod(0o755)
    os.environ["PATH"] = f"{program.parent}:{os.environ['PATH']}"


def test_an_interrupted_copy_ends(endless_copy, tmp_path, monkeypatch):
    copying = ephemeral._copying(tmp_path, tmp_path / "copy")
    monkeypatch.setattr(copying, "communicate", lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        ephemeral._finish(copying)
    assert copying.returncode == -signal.SIGKILL


def test_a_copy_that_still_runs_ends_with_the_folder(template, endless_copy):
    with ephemeral.temporary_folder(SERVE):
        folder, copying = Path(os.environ["STATE_DIR"]), ephemeral.early_copy.process
        assert copying.poll() is None
    assert copying.returncode == -signal.SIGKILL
    assert not folder.exists()


def test_a_copy_that_fails_is_a_sentence(template, tmp_path):
    copying = ephemeral._copying(template, tmp_path / "missing" / "postgres")
    with pytest.raises(EmbeddedError, match=r"The template of the database cannot be copied: cp: .*missing"):
        ephemeral._finish(copying)


def test_a_port_and_a_pace_of_ones_own_are_kept():
    os.environ |= {"PORT": "8123", "DRIVER_SCALE": "0.5"}
    with ephemeral.temporary_folder(SERVE):
        assert (os.environ["PORT"], os.environ["DRIVER_SCALE"]) == ("8123", "0.5")


@pytest.mark.parametrize("name", ephemeral.OF_OTHERS)
def test_services_of_others_are_refused_by_name(name):
    os.environ[name] = "redis://127.0.0.1:1/0"
    with pytest.raises(BadVariable, match=f"EPHEMERAL: .* unset {name}"), ephemeral.temporary_folder(SERVE):
        pass


@pytest.mark.parametrize(("argv", "flag"), [(SERVE, "0"), (["manage.py", "migrate"], "1"), (["manage.py"], "1")])
def test_other_commands_and_starts_are_not_changed(argv, flag):
    os.environ["EPHEMERAL"] = flag
    before = dict(os.environ)
    with ephemeral.temporary_folder(argv):
        assert dict(os.environ) == before


def test_a_template_is_kept_copied_and_in_the_end_removed(tmp_path, monkeypatch):
    state, other = tmp_path / "state", tmp_path / "other"
    (state / "postgres").mkdir(parents=True)
    (state / "postgres" / "PG_VERSION").write_text("18")
    other.mkdir()
    assert not ephemeral.Copy(other).wait()
    ephemeral.keep_template(state)
    ephemeral.keep_template(state)  # by a second start at the same time
    assert ephemeral.Copy(other).wait()
    assert (other / "postgres" / "PG_VERSION").read_text() == "18"
    cache = tmp_path / "cache" / "skerry"
    for age in range(1, 5):
        old = cache / f"cluster-{age}"
        old.mkdir()
        os.utime(old, (age, age))
    ephemeral.keep_template(state)
    assert sorted(path.name for path in cache.iterdir()) == sorted(
        [ephemeral._template().name, "cluster-4", "cluster-3"]
    )


def test_a_change_of_the_code_makes_another_template(tmp_path, monkeypatch):
    monkeypatch.setattr(ephemeral, "CODE", (str(tmp_path),))
    (tmp_path / "module.py").write_text("x = 1")
    before = ephemeral._fingerprint()
    assert ephemeral._fingerprint() == before
    (tmp_path / "module.py").write_text("x = 10")
    changed = ephemeral._fingerprint()
    assert changed != before
    os.environ["PRIVATE_NETWORK"] = "10.0.0.0/9"
    assert ephemeral._fingerprint() != changed


def test_only_abandoned_folders_are_removed(tmp_path):
    abandoned, used, new, begun, old = (tmp_path / "tmp" / f"{ephemeral.PREFIX}{name}" for name in "abcde")
    for folder in (abandoned, used, new, begun, old):
        folder.mkdir()
        (folder / "secret-key").touch()
    for folder, address in ((abandoned, "http://127.0.0.1:2"), (begun, "")):
        (folder / LOCK_FILE).write_text(address)
    os.utime(old, (1, 1))
    link = tmp_path / "tmp" / f"{ephemeral.PREFIX}link"
    link.symlink_to(abandoned)
    with state_locked(used, "http://127.0.0.1:1"):
        ephemeral.remove_abandoned()
        assert [each.exists() for each in (abandoned, used, new, begun, old)] == [False, True, True, True, False]
    assert link.is_symlink()


def test_a_server_of_an_abandoned_folder_is_stopped(tmp_path):
    folder = tmp_path / "tmp" / f"{ephemeral.PREFIX}a"
    folder.mkdir()
    server = Valkey(folder)
    server.start()
    (folder / LOCK_FILE).write_text("http://127.0.0.1:2")
    ephemeral.remove_abandoned()
    assert not server.answers()
    assert not folder.exists()


def test_real_machines_are_refused():
    os.environ["HYPERVISOR"] = "QEMU"
    with pytest.raises(BadVariable, match=r"EPHEMERAL: .* unset HYPERVISOR"), ephemeral.temporary_folder(SERVE):
        pass
