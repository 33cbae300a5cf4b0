"""The work of tasks in tests. The process of a task imports this module and no test."""

import os
import time

from compute.drivers.qemu.agent import commands, tasks
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.store import Store

NAME = "disk.skerry-7.skerry-7-disk-1"


def run(store: Store, work, patience: float = 60.0, secrets=None, **arguments):
    return tasks.run(store.tasks(), NAME, store, work, arguments, secrets, patience)


def note(task: tasks.Task, store: Store, text: str, secret: str = "") -> None:
    with (store.root / "notes").open("a") as file:
        file.write(f"{text}{secret}\n")


def wait_for_file(task: tasks.Task, store: Store, text: str = "", report: bool = False) -> None:
    """Run until a file exists."""
    note(task, store, f"began {os.getpid()}")
    if report:
        task.report(30, 120)
    while not (store.root / "go").exists():
        time.sleep(0.01)
    note(task, store, "ended")


def wait_in_a_program(task: tasks.Task, store: Store) -> None:
    commands.run("sh", "-c", f"echo $$ > {store.root}/program; exec sleep 600")


def refuse(task: tasks.Task, store: Store) -> None:
    note(task, store, "tried")
    raise Refused("The disk is too small.")


def fail(task: tasks.Task, store: Store) -> None:
    raise Failed("The host is busy.")


def break_down(task: tasks.Task, store: Store) -> None:
    raise ZeroDivisionError
