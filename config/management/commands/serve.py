"""``manage.py serve``: the whole platform in one terminal, behind ``make serve``."""

import os
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack, redirect_stdout
from dataclasses import replace
from io import StringIO
from typing import Any

from celery import Celery
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections, transaction
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError

from accounts.services.demo import OWNER, RESTRICTED, ensure_demo, ensure_token
from compute.services.demo import create_example
from config.celery import app
from config.environment.variables import is_set
from config.laptop.embedded import EmbeddedError, Postgres, Shared, services
from config.laptop.serving import demo
from config.laptop.serving.children import children
from config.laptop.serving.lock import Taken, database_locked, state_locked
from config.laptop.serving.progress import Progress
from config.laptop.serving.supervisor import Supervisor
from config.management.commands.migrate import Command as Migrate
from config.processes.command_errors import one_line_errors

# Seconds for the API to start: a machine may be slow, and a process that dies is reported at once.
START_SECONDS = 300
WORKER_SECONDS = 60
# Seconds between attempts to start an embedded service that does not start.
REVIVE_PAUSE = 5.0
PORTS = range(1, 2**16)
FIRST_UNPRIVILEGED = 1024
BOOTING = "Booting a kernel here, by KVM or emulated, which may take minutes the first time"


class Command(BaseCommand):
    help = "Run the database, broker, API, worker and clock in this terminal, with a demo account."
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", help=f"port of the API (default: PORT, else {demo.DEFAULT_PORT})")

    def handle(self, *args: Any, **options: Any) -> None:
        port = read_port(options["port"] or os.environ.get("PORT") or str(demo.DEFAULT_PORT))
        os.environ["PORT"] = str(port)  # the children read the site's address from it
        self.progress = Progress(sys.stdout)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)
        try:
            if settings.HYPERVISOR == "QEMU":
                call_command("host_local", programs=True)
            with state_locked(settings.STATE_DIR, f"http://127.0.0.1:{port}"):
                refuse_taken(port)
                stream_port = port_for_streams(port)
                os.environ.setdefault("STREAM_URL", f"http://127.0.0.1:{stream_port}")
                self._serve(port, stream_port)
        except KeyboardInterrupt:
            pass
        except (EmbeddedError, Taken) as error:
            raise CommandError(str(error)) from error
        self.progress.say("Stopped.")

    def _serve(self, port: int, stream_port: int) -> None:
        postgres, valkey = not is_set("DATABASE_URL"), not is_set("REDIS_URL")
        with ExitStack() as stack:
            with self.progress.phase(starting(postgres, valkey)):
                shared = stack.enter_context(services(settings.STATE_DIR, postgres=postgres, valkey=valkey))
                if not postgres:
                    with one_line_errors(cannot_use, which=always):
                        stack.enter_context(database_locked())
            with one_line_errors(cannot_use, which=always):
                known = self._prepare()
            self._run(port, stream_port, known, Keeper(shared, self.progress.say))

    def _prepare(self) -> demo.Logins:
        """Bring the database up to date. Return the logins of the demo account."""
        try:
            migrating = "Migrating the database"
            with self.progress.phase(migrating):
                report = self._counter(migrating)
                call_command(Migrate(report=report), interactive=False, verbosity=0)
            with self.progress.phase("Seeding the catalogue and the demo account"):
                with redirect_stdout(StringIO()):
                    call_command("seed", demo=True, verbosity=0)
                known = with_demo_account(demo.logins(settings.STATE_DIR))
                demo.keep(settings.STATE_DIR, known)
            if settings.HYPERVISOR == "QEMU":
                with self.progress.waiting(BOOTING):
                    call_command("host_local", verbosity=0)
            return known
        finally:
            connections.close_all()

    def _counter(self, text: str) -> Callable[[int, int], None]:
        return lambda applied, total: self.progress.count(f"{text}: {applied} of {total}")

    def _run(self, port: int, stream_port: int, known: demo.Logins, keeper: "Keeper") -> None:
        say = self.progress.say
        with Supervisor(children(port, stream_port), keeper.tend, say) as supervisor:
            # A line that is not rewritten: from here on the children write to the terminal as well.
            say("Starting the API, a worker and the clock")
            # The stream process too, because it receives the first upload.
            ready = supervisor.run_until(lambda: serves(port) and serves(stream_port), START_SECONDS)
            if ready is False:
                raise CommandError(f"The API does not answer after {START_SECONDS} seconds.")
            if ready:
                ready = supervisor.run_until(works, WORKER_SECONDS)
            if ready is False:
                say("No worker answers, so jobs wait. The reason is in the lines above.")
            if ready is not None:
                say(f"Ready after {self.progress.seconds():.1f} s")
                say(demo.banner(port, known, demo.REAL if settings.HYPERVISOR == "QEMU" else demo.SIMULATED))
                supervisor.run_until(lambda: False)
            say("Stopping")


@transaction.atomic
def with_demo_account(known: demo.Logins) -> demo.Logins:
    """Create missing parts of the demo account and its tokens. Return the logins with tokens that work.

    A new account gets an example instance. If this machine is a host, it gets none: its owner creates a real one.
    """
    owner = ensure_demo(
        staff_password=known.staff, owner_password=known.owner, restricted_password=known.restricted
    )
    if owner and settings.HYPERVISOR == "SIMULATED":
        create_example(owner)
    return replace(
        known,
        owner_token=ensure_token(OWNER, known.owner_token),
        restricted_token=ensure_token(RESTRICTED, known.restricted_token),
    )


class Keeper:
    """Restarts embedded services that died."""

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


def read_port(text: str) -> int:
    """Return the port number in `text`. Raises `CommandError` if it contains none."""
    if not text.strip().isascii() or not text.strip().isdigit() or int(text) not in PORTS:
        raise CommandError(f"PORT: {text!r} is no port, which is a number from {PORTS[0]} to {PORTS[-1]}.")
    return int(text)


def refuse_taken(port: int) -> None:
    """Raise `CommandError` if something listens on `port`: several servers could share it unnoticed."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            other = port + 1 if port + 1 in PORTS and port >= FIRST_UNPRIVILEGED else demo.DEFAULT_PORT
            raise CommandError(
                f"Port {port} cannot be used: {error.strerror}. Choose another one: make serve PORT={other}"
            ) from error


def port_for_streams(port: int) -> int:
    """Return the port after this one or, if it is taken, any free port."""
    for wanted in (port + 1, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", wanted))
            except (OSError, OverflowError):  # taken, or above the last port
                continue
            return int(probe.getsockname()[1])
    raise CommandError("No port is free for streams.")


def starting(postgres: bool, valkey: bool) -> str:
    """Return the line of the phase that starts the embedded services. It names servers that replace them."""
    if postgres and valkey:
        return "Starting PostgreSQL and Valkey"
    if postgres:
        return "Starting PostgreSQL (Redis is that of REDIS_URL)"
    if valkey:
        return "Starting Valkey (PostgreSQL is that of DATABASE_URL)"
    return "Using the PostgreSQL of DATABASE_URL and the Redis of REDIS_URL"


def cannot_use(message: str) -> str:
    """Return the line for the database's message `said`: the disk of the embedded one may be full."""
    full = None if is_set("DATABASE_URL") else Postgres(settings.STATE_DIR).full_disk(message)
    return full or f"Cannot use the database: {message}"


def always(error: Exception) -> bool:
    """Select every error of the database before anything serves: a full disk, for example, makes a statement
    fail.
    """
    return True


def works(app: Celery = app) -> bool:
    """Tell whether a worker answers.

    A worker that cannot import its tasks ends, is restarted, and never answers.
    """
    try:
        return bool(app.control.ping(timeout=1))
    except (BrokerError, RedisError, OSError):
        return False


def serves(port: int) -> bool:
    """Tell whether the API answers, which means that it reaches its database."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False
