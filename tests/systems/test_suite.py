"""The parts of `make test-systems` that need neither root nor a network."""

import pytest

from tests.systems import suite
from tests.systems.chroot import Chroot, Impossible

TARGETS = """\
https://packages.example/apt Elsewhere stable main
https://debian.example/security Debian bookworm-security main
https://debian.example/debian Debian bookworm contrib
https://debian.example/debian Debian bookworm main
"""


def test_the_mirror_is_that_of_a_whole_release_of_debian():
    assert suite.mirror_of(TARGETS) == "https://debian.example/debian"


@pytest.mark.parametrize("targets", ["", "https://packages.example/apt Elsewhere stable main\n", "incomplete\n"])
def test_a_machine_without_a_mirror_gets_the_option_to_name_one(targets):
    with pytest.raises(Impossible, match="--mirror"):
        suite.mirror_of(targets)


def test_systems_are_made_as_root(monkeypatch):
    monkeypatch.setattr(suite.os, "geteuid", lambda: 1000)
    with pytest.raises(Impossible, match="sudo make test-systems"):
        suite.check_machine()


def test_the_missing_programs_are_named(monkeypatch):
    monkeypatch.setattr(suite.os, "geteuid", lambda: 0)
    monkeypatch.setattr(suite.shutil, "which", lambda name: None if name == "debootstrap" else f"/usr/bin/{name}")
    with pytest.raises(Impossible, match="debootstrap is missing: apt-get install"):
        suite.check_machine()


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("7 passed, 12 skipped in 3.10s", "7 passed, 12 skipped"),
        ("=== 1 failed, 7 passed, 2 warnings in 63.10s (0:01:03) ===", "1 failed, 7 passed, 2 warnings"),
        ("no tests ran in 0.10s", ""),
    ],
)
def test_counts_are_read_from_the_last_line(line, counts):
    assert suite.counts(f"....F [100%]\n{line}\nLeft out: those that take long\n") == counts


def test_commands_see_no_variables_of_the_machine_but_those_that_lead_to_packages(tmp_path):
    given = {"SECRET_KEY": "s3cret", "DATABASE_URL": "postgres://here", "PIP_PROXY": "http://proxy.example"}
    command = Chroot(tmp_path / "root", tmp_path / "cache").command("make test", given)
    assert "PIP_PROXY=http://proxy.example" in command
    assert "s3cret" not in str(command)
    assert "postgres" not in str(command)
