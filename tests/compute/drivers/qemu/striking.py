"""The agent of a host as `sshd` runs it. It kills itself by SIGKILL once, at the point in ``strike.json`` in
its directory.

::

    python3 -I striking.py AGENT answer ROOT [SHARED]

The file names a `verb`, a `moment`, and whether the `whole` host dies too, as if it lost its power:

``midst``       before its second effect on files or processes; with fewer effects, like ``answered``.
``answered``    after all work, before it answers.
``copying``     in the task that it started, after a part is copied.
``changing``    in the task that it started, before its second program.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

FILE = "strike.json"
EFFECTS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.fork", "subprocess.Popen"}
IN_TASKS = ("copying", "changing")


def main(agent: str, *arguments: str) -> int:
    sys.path.insert(0, agent)
    from compute.drivers.qemu.agent import tasks
    from compute.drivers.qemu.agent.serving import agent_program

    path = Path(arguments[1]) / FILE
    strike = read(path)
    if strike is not None:
        call = agent_program.call

        def struck(store: Any, verb: str, values: Any) -> Any:
            if verb != strike["verb"]:
                return call(store, verb, values)
            if strike["moment"] in IN_TASKS:
                here = str(Path(__file__).parent)
                tasks._BEGIN = f"{_STRIKE.format(here=here, path=str(path))}{tasks._BEGIN}"
                return call(store, verb, values)
            if strike["moment"] == "midst":
                before(2, is_effect, lambda: die(path))
            result = call(store, verb, values)
            die(path)
            return result

        agent_program.call = struck
    return int(agent_program.main([*arguments]))


_STRIKE = (
    "import sys; sys.path.insert(0, sys.argv[1]); sys.path.insert(0, {here!r}); "
    "import striking; striking.in_task({path!r})\n"
)


def in_task(path: str) -> None:
    """Prepare the process of a task to kill itself."""
    from compute.drivers.qemu.agent import tasks

    strike = read(Path(path))
    if strike is None:
        return
    if strike["moment"] == "copying":
        report = tasks.Task.report

        def reported(task: tasks.Task, done: int, total: int) -> None:
            report(task, done, total)
            if done:
                die(Path(path))

        tasks.Task.report = reported  # type: ignore[method-assign]
    else:
        before(2, lambda event, values: event == "subprocess.Popen", lambda: die(Path(path)))


def read(path: Path) -> dict[str, Any] | None:
    with suppress(FileNotFoundError):
        return dict(json.loads(path.read_bytes()))
    return None


def is_effect(event: str, values: tuple[Any, ...]) -> bool:
    return event in EFFECTS or (event == "open" and bool(values[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)))


def before(nth: int, counts: Callable[[str, tuple[Any, ...]], bool], strike: Callable[[], None]) -> None:
    """Call `strike` before the nth action of this process that `counts` selects."""
    seen = [0]

    def audit(event: str, values: tuple[Any, ...]) -> None:
        if seen[0] < nth and counts(event, values):
            seen[0] += 1
            if seen[0] == nth:
                strike()

    sys.addaudithook(audit)


def die(path: Path) -> None:
    strike = read(path)
    if strike is None:
        return  # another process has died of it
    path.unlink()
    if strike["whole"]:
        for pid in processes_below(path.parent.parent):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def processes_below(folder: Path) -> list[int]:
    """Return the processes that work in a folder or name it in their command, except this process."""
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal() or int(process.name) == os.getpid():
            continue
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if Path(os.readlink(process / "cwd")).is_relative_to(folder) or any(
                f"{folder}/" in word for word in words
            ):
                found.append(int(process.name))
    return found


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
