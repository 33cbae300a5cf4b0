"""Running the programs of the host."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from compute.drivers.qemu.agent import locks
from compute.drivers.qemu.agent.errors import Failed

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MAX_DETAILS = 2000
"""The number of characters of a failed program's output that are logged."""
# debugfs starts a pager, and programs translate their output
ENVIRONMENT = {"LC_ALL": "C", "PAGER": "cat", "DEBUGFS_PAGER": "__none__"}


class CommandFailed(Failed):
    """A program ended with an unexpected status."""

    def __init__(self, program: str, status: int, output: str):
        super().__init__(f"{Path(program).name} failed on this host.")
        self.details = f"{program} ended with status {status}: {output.strip()[-MAX_DETAILS:]}"


class TimedOut(Failed):
    """A program exceeded its time limit, and was killed."""

    def __init__(self, program: str, timeout: float | None):
        super().__init__(f"{program} took longer than {timeout:.0f} s.")


def run(
    *command: str,
    expected: Sequence[int] = (0,),
    given: str | None = None,
    timeout: float | None = None,
    files: Sequence[int] = (),
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program without a shell, and return its output. Raises `CommandFailed`.

    `given` is the standard input, `files` are open files that the program finds in /proc/self/fd, and `folder` is
    its working directory. After `timeout` seconds the program is killed, and `TimedOut` raised. If the caller is
    killed, the program continues. So it inherits the caller's locks, and nobody else starts before it has ended.
    """
    path = os.pathsep.join(filter(None, (os.environ.get("PATH"), PATH)))
    try:
        done = subprocess.run(  # noqa: S603 - without a shell, and names are checked
            command,
            capture_output=True,
            text=True,
            errors="replace",
            input=given or "",
            timeout=timeout,
            cwd=folder,
            pass_fds=(*files, *locks.inherited_descriptors()),
            env={**os.environ, **ENVIRONMENT, "PATH": path},
        )
    except FileNotFoundError as error:
        raise Failed(f"{command[0]} is not installed on this host.") from error
    except subprocess.TimeoutExpired as error:
        raise TimedOut(command[0], timeout) from error
    if done.returncode not in expected:
        raise CommandFailed(command[0], done.returncode, done.stderr or done.stdout)
    return done
