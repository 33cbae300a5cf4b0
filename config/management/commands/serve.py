"""``manage.py serve``: the whole platform in one terminal, behind ``make serve``."""

import os
import signal
import socket
import time
import urllib.error
import urllib.request
from typing import Any

from celery import Celery
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, connections
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError

from config.celery import app
from config.embedded import EmbeddedError, Shared, services
from config.serving import demo
from config.serving.children import children
from config.serving.supervisor import Supervisor

START_SECONDS = 60
# Between attempts to start an embedded service that cannot be started.
REVIVE_PAUSE = 5.0


class Command(BaseCommand):
    help = "Run database, broker, API, worker and clock in this terminal, with a demo account."
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=os.environ.get("PORT") or 8000)

    def handle(self, *args: Any, **options: Any) -> None:
        port = options["port"]
        refuse_taken(port)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)
        try:
            self._serve(port)
        except KeyboardInterrupt:
            pass
        except EmbeddedError as error:
            raise CommandError(str(error)) from error
        self._say("Stopped.")

    def _serve(self, port: int) -> None:
        postgres = not os.environ.get("DATABASE_URL")
        valkey = not os.environ.get("REDIS_URL")
        self._say(f"PostgreSQL: {'the embedded one' if postgres else 'DATABASE_URL'}")
        self._say(f"Redis: {'the embedded Valkey' if valkey else 'REDIS_URL'}")
        with services(settings.STATE_DIR, postgres=postgres, valkey=valkey) as shared:
            known = demo.passwords(settings.STATE_DIR)
            token = self._prepare(known)
            keeper = Keeper(shared, self._say)
            with Supervisor(children(port), keeper.tend, self._say) as supervisor:
                self._say("Starting the API, a worker and the clock")
                ready = supervisor.run_until(lambda: serves(port), START_SECONDS)
                if ready is False:
                    raise CommandError(f"The API does not answer after {START_SECONDS} seconds.")
                if ready:
                    ready = supervisor.run_until(works, START_SECONDS)
                if ready is False:
                    self._say("No worker answers: what is begun waits for one. What ails it is said above.")
                if ready is not None:
                    self.stdout.write(demo.banner(port, token, known))
                    self.stdout.flush()
                    supervisor.run_until(lambda: False)
                self._say("Stopping")

    def _prepare(self, known: demo.Passwords) -> str:
        """Bring the database up to date; returns a fresh token."""
        from accounts.services.demo import ensure_demo

        try:
            self._say("Database: migrating")
            call_command("migrate", interactive=False, verbosity=0)
            self._say("Database: catalogue and demo account")
            call_command("seed", verbosity=0)
            ensure_demo(staff_password=known.staff, owner_password=known.owner)
            return demo.fresh_token()
        except OperationalError as error:
            raise CommandError(f"Cannot use the database: {error}") from error
        finally:
            connections.close_all()

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


class Keeper:
    """Starts embedded services again that died."""

    def __init__(self, shared: list[Shared], say: Any) -> None:
        self.shared = shared
        self.say = say
        self.next_try = 0.0

    def tend(self) -> None:
        if time.monotonic() < self.next_try:
            return
        for service in self.shared:
            try:
                if service.revive():
                    self.say(f"{service.server.name} had ended, started again")
            except EmbeddedError as error:
                self.say(str(error))
                self.next_try = time.monotonic() + REVIVE_PAUSE


def refuse_taken(port: int) -> None:
    """Raise `CommandError` if something listens on `port`: several servers could share it unnoticed."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OverflowError:
            raise CommandError(f"{port} is no port.") from None
        except OSError as error:
            raise CommandError(
                f"Port {port} cannot be used: {error.strerror}. Choose another one: make serve PORT={port + 1}"
            ) from error


def works(app: Celery = app) -> bool:
    """Whether a worker answers. One that cannot import its tasks ends and is started again, and never does."""
    try:
        return bool(app.control.ping(timeout=1))
    except (BrokerError, RedisError, OSError):
        return False


def serves(port: int) -> bool:
    """Whether the API answers. Asks for what needs no token but the database."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v4/regions", timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False
