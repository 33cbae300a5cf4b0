"""The packages of each lock file, and processes that have those of a smaller one alone."""

import os
import re
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCTION, LAPTOP, DEV = "requirements.lock", "requirements-laptop.lock", "requirements-dev.lock"
QEMU = "requirements-qemu.lock"
PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==(\S+?)(?:\s*;.*)?(?: \\)?$", re.MULTILINE)


def pins(name: str) -> dict[str, str]:
    """Each package of a lock file, by its normalized name, with its version."""
    return {normalized(package): version for package, version in PIN.findall((ROOT / name).read_text())}


def normalized(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def modules_beyond(name: str) -> set[str]:
    """The modules here that no package of the lock file `name` brings."""
    wanted = set(pins(name))
    return {
        module
        for module, packages in packages_distributions().items()
        if wanted.isdisjoint(normalized(package) for package in packages)
    }


def only(name: str, env: dict[str, str] | None = None) -> dict[str, str]:
    """`env`, or this process's environment, for a Python that finds the packages of the lock file `name` alone."""
    given = dict(os.environ if env is None else env)
    path = [str(ROOT / "tests" / "without"), *filter(None, [given.get("PYTHONPATH")])]
    return given | {"PYTHONPATH": os.pathsep.join(path), "WITHOUT_MODULES": ",".join(sorted(modules_beyond(name)))}
