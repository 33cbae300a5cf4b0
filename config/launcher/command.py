"""The command ``skerry`` of the installed package.

The modules of the application have their names of the source tree, such as ``config``, below the folder `APP`. Only
this command and its child processes have that folder on their path. So no other program sees these names.
"""

import os
import sys
from importlib.metadata import version
from pathlib import Path

APP = Path(__file__).resolve().parent / "app"
USAGE = """\
usage: skerry COMMAND [ARGUMENTS]

  skerry serve             run everything here: database, broker, API, worker and clock, with a demo account
  skerry manage COMMAND    run a command, such as migrate; `skerry manage help` lists the commands
  skerry granian ...       run a web process or a stream process
  skerry celery ...        run a worker or the clock
  skerry --version         print the version

`skerry serve --help` and `skerry manage COMMAND --help` list the arguments.
"""
WRONG_USAGE = 2
"""The exit code of programs that do not know an argument."""


def main() -> None:
    """Run the command in `sys.argv`."""
    match sys.argv[1:]:
        case [] | ["help" | "--help" | "-h", *_]:
            sys.stdout.write(USAGE)
        case ["--version" | "-V"]:
            sys.stdout.write(f"{version('skerry')}\n")
        case ["serve", *_] as arguments:
            _manage(arguments)
        case ["manage", *arguments]:
            _manage(arguments)
        case ["granian" | "celery" as program, *arguments]:
            _run(program, arguments)
        case [unknown, *_]:
            sys.stderr.write(f"There is no command skerry {unknown}. `skerry --help` lists the commands.\n")
            sys.exit(WRONG_USAGE)


def _manage(arguments: list[str]) -> None:
    """Run a command of Django in this process."""
    _make_importable()
    sys.argv = ["skerry manage", *arguments]
    from manage import main as run_command  # found only now

    run_command()


def _run(program: str, arguments: list[str]) -> None:
    """Replace this process by a program that imports the application. -P: not from the current folder."""
    _make_importable()
    os.execv(sys.executable, [sys.executable, "-P", "-m", "config.preload", program, *arguments])  # noqa: S606


def _make_importable() -> None:
    """Make the application importable in this process and its children, which may run in another folder.

    The variable names the folder where relative paths in variables start (config/environment/places.py).
    """
    sys.path.insert(0, str(APP))
    others = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each not in ("", str(APP))]
    os.environ["PYTHONPATH"] = os.pathsep.join([str(APP), *others])
    os.environ["SKERRY_STARTED_IN"] = str(Path.cwd())
