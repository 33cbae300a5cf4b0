"""The packages of each lock file, and processes that have only those of a smaller one."""

import os
import re
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCTION, LAPTOP, DEV = "requirements.lock", "requirements-laptop.lock", "requirements-dev.lock"
QEMU, BUILD = "requirements-qemu.lock", "requirements-build.lock"
PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==(\S+?)(?:\s*;.*)?(?: \\)?$", re.MULTILINE)


def pins(name: str) -> dict[str, str]:
    """Return each package of a lock file, by its normalized name, with its version."""
    return {normalized(package): version for package, version in PIN.findall((ROOT / name).read_text())}


def normalized(name: str) -> str:
    """Return a package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def modules_beyond(name: str) -> set[str]:
    """Return the installed modules that no package of the lock file `name` brings."""
    wanted = set(pins(name))
    return {
        module
        for module, packages in packages_distributions().items()
        if wanted.isdisjoint(normalized(package) for package in packages)
    }


def only(name: str, env: dict[str, str] | None = None) -> dict[str, str]:
    """Return an environment in which Python finds only the packages of the lock file `name`."""
    given = dict(os.environ if env is None else env)
    path = [str(ROOT / "tests" / "without"), *filter(None, [given.get("PYTHONPATH")])]
    return given | {"PYTHONPATH": os.pathsep.join(path), "WITHOUT_MODULES": ",".join(sorted(modules_beyond(name)))}
