"""``manage.py console``: the text console of an instance, in this terminal."""

import os
import select
import sys
import termios
import tty
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from compute.drivers.base import Console, DriverError
from compute.models import Instance
from compute.worker.consoles import open_console, ssh_command
from config.environment.folders import state_variable
from config.environment.places import MANAGE

ESCAPE = b"\x1d"
"""The key that leaves the console: Ctrl-]."""


class Command(BaseCommand):
    help = "Open the text console of an instance in this terminal. Earlier output is shown first. Ctrl-] closes it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("instance", help="id or label of the instance")
        parser.add_argument("--how", action="store_true", help="only print the commands to log in")

    def handle(self, *, instance: str, how: bool, **options: Any) -> None:
        found = named(instance)
        try:
            if how:
                self._say_how(found)
                return
            with closing(open_console(found)) as console:
                sys.stderr.write(f"Console of {found.label}. Ctrl-] closes it.\r\n")
                with raw_terminal(sys.stdin.fileno()):
                    carry(console, sys.stdin.fileno(), sys.stdout.fileno())
        except DriverError as error:
            raise CommandError(f"{found.label}: {error}") from error
        sys.stderr.write("\r\n")

    def _say_how(self, instance: Instance) -> None:
        ssh = ssh_command(instance)
        if ssh is None:
            raise CommandError(f"{instance.label} is not running, or has no public address.")
        console = f"{state_variable()}{MANAGE} console {instance.label}"
        self.stdout.write(f"on its console:  {console}\nby ssh:          {ssh}")


def named(text: str) -> Instance:
    """Return the instance with this id or label. Raises `CommandError`, also if several accounts use the label."""
    found = list(Instance.objects.filter(label=text).order_by("pk")[:10])
    if not found and text.isascii() and text.isdecimal():
        found = list(Instance.objects.filter(pk=int(text[:18])))
    if not found:
        raise CommandError(f"No instance has the id or label {text}.")
    if len(found) > 1:
        ids = ", ".join(str(each.pk) for each in found)
        raise CommandError(f"Several instances have this label. Use one of their ids: {ids}.")
    return found[0]


@contextmanager
def raw_terminal(descriptor: int) -> Iterator[None]:
    """Set a terminal to send each key at once and to echo none. Other settings stay as they are."""
    if not os.isatty(descriptor):
        yield
        return
    before = termios.tcgetattr(descriptor)
    tty.setraw(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def carry(console: Console, keys: int, screen: int) -> None:
    """Copy keys to a console and its output to a screen, until the console ends or Ctrl-] is typed.

    If the keys end, as from a pipe, the console stays open to show the effect of the last ones.
    """
    watched, waiting = [console.fileno(), keys], b""
    while True:
        ready, takes, _ = select.select(watched, [console.fileno()] if waiting else [], [])
        if console.fileno() in ready:
            shown = console.read()
            if not shown:
                return
            while shown:
                shown = shown[os.write(screen, shown) :]
        if takes:
            waiting = waiting[console.write(waiting) :]
        if keys in ready:
            typed = os.read(keys, 4096)
            before, escaped, _ = typed.partition(ESCAPE)
            waiting += before
            if escaped:
                return
            if not typed:
                watched.remove(keys)
