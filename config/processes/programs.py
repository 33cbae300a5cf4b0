"""Runs granian and Celery in this process, which has imported the application already."""

import multiprocessing
import os
import runpy
import sys
import warnings
from importlib.util import find_spec

from config.environment.places import ROOT


def run_program(module: str, *arguments: str) -> None:
    """Run `module` as ``python -m`` does. Its processes are forks of this one.

    Outside of Linux, frameworks of the system may refuse to work in a fork: there the module gets a new Python.
    Relative paths in its arguments then start at the application's folder.
    """
    # Both programs look for modules in the current folder first: another ``config`` there would be theirs.
    if sys.platform != "linux":
        os.chdir(ROOT)
        os.execv(sys.executable, command_line(module, *arguments))  # noqa: S606
    os.environ.setdefault("GRANIAN_WORKING_DIR", str(ROOT))  # granian puts it first on the path, and stays here
    sys.path.append(os.getcwd())  # celery puts the current folder first unless it is on the path
    warnings.filterwarnings("ignore", category=UserWarning, module="celery.platforms")
    # From Python 3.14 on, granian would spawn its processes, and each would import everything again.
    multiprocessing.set_start_method("fork", force=True)
    # Celery starts itself again with this path after a SIGHUP.
    spec = find_spec(f"{module}.__main__")
    sys.argv = [spec.origin if spec and spec.origin else module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def command_line(module: str, *arguments: str) -> list[str]:
    """Return the command line that runs `module` in a new Python."""
    # Celery warns when it runs as root. A container on a laptop often has no other user.
    return [sys.executable, "-W", "ignore::UserWarning:celery.platforms", "-m", module, *arguments]
