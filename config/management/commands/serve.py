"""``manage.py serve``: the whole platform in one terminal, behind ``make serve``."""

import os
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stdout, suppress
from dataclasses import replace
from functools import partial
from io import StringIO
from types import FrameType
from typing import Any, NoReturn, TextIO

from celery import Celery
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections, transaction
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError

from accounts.services.demo import OWNER, RESTRICTED, STAFF, ensure_demo, ensure_token
from compute.services.demo import create_example
from config.celery import app
from config.environment.places import serve_command
from config.environment.variables import is_set
from config.laptop.embedded import EmbeddedError, Postgres, Shared, services
from config.laptop.serving import demo, ephemeral
from config.laptop.serving.children import children
from config.laptop.serving.forks import STOP_SIGNALS, value_of_fork
from config.laptop.serving.lock import Taken, database_locked, keep_database_locked, state_locked
from config.laptop.serving.ports import bound
from config.laptop.serving.progress import Progress
from config.laptop.serving.supervisor import Child, Supervisor
from config.management.commands.migrate import Command as Migrate
from config.preload import load
from config.processes.command_errors import one_line_errors
from config.processes.garbage import resume_full_collections

# Seconds for the API to start: a machine may be slow, and a process that dies is reported at once.
START_SECONDS = 300
WORKER_SECONDS = 60
# Seconds between attempts to start an embedded service that does not start.
REVIVE_PAUSE = 5.0
PORTS = range(1, 2**16)
FIRST_UNPRIVILEGED = 1024
ONE_LINE_ERRORS = (CommandError, EmbeddedError, Taken, SystemExit)
"""The errors that are printed as one line."""
BOOTING = "Booting a kernel with KVM or emulation. This may take minutes the first time"


class Command(BaseCommand):
    help = "Run the database, broker, API, worker and clock in this terminal, with a demo account."
    requires_migrations_checks = False

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        if ephemeral.is_requested():
            # Checks would import the URL configuration before the database starts, instead of at the same time.
            self.requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", help=f"port of the API (default: PORT, else {demo.DEFAULT_PORT})")

    def handle(self, *args: Any, **options: Any) -> None:
        port = read_port(options["port"] or os.environ.get("PORT") or str(demo.DEFAULT_PORT))
        self.ephemeral = ephemeral.is_requested()
        self.output = line_alone() if self.ephemeral else sys.stdout
        self.progress = Progress(sys.stdout)
        for number in STOP_SIGNALS:
            signal.signal(number, stop)
        try:
            if settings.HYPERVISOR == "QEMU":
                call_command("host_local", programs=True)
            with state_locked(settings.STATE_DIR, f"http://127.0.0.1:{port}"):
                refuse_taken(port)
                stream_port = None if self.ephemeral else port_for_streams(port)
                use_addresses(port, stream_port)
                self._serve(port, stream_port)
        except KeyboardInterrupt:
            pass
        except (EmbeddedError, Taken) as error:
            raise CommandError(str(error)) from error
        self.progress.say("Stopped.")

    def _serve(self, port: int, stream_port: int | None) -> None:
        postgres, valkey = not is_set("DATABASE_URL"), not is_set("REDIS_URL")
        with ExitStack() as stack:
            if self.ephemeral:
                ephemeral.remove_abandoned()
                self._use_template()
            # In a fork, so that no child gets a copy of the models and connections of migrations. It is begun
            # before the thread, and waits for a byte in the pipe.
            read_end, write_end = os.pipe()
            prepare = partial(self._prepared, read_end, lock=not postgres)
            with value_of_fork("skerry prepare", prepare, ONE_LINE_ERRORS) as prepared:

                def start_services() -> list[Shared]:
                    with self.progress.phase(starting(postgres, valkey)):
                        shared = stack.enter_context(
                            services(
                                settings.STATE_DIR, postgres=postgres, valkey=valkey, durable=not self.ephemeral
                            )
                        )
                    os.write(write_end, b"1")
                    return shared

                with ThreadPoolExecutor(1) as threads:
                    starting_services = threads.submit(start_services)
                    load()
                    resume_full_collections()
                shared = starting_services.result()
                known = prepared()
                os.close(read_end)
                os.close(write_end)
            processes = children(port, stream_port)
            if not postgres:
                processes.insert(0, Child("skerry lock", partial(keep_database_locked, os.getpid())))
            # The API is ready with the stream process, because it receives the first upload.
            ports = [each for each in (port, stream_port) if each]
            self._run(ports, processes, known, Keeper(shared, self.progress.say, self.ephemeral))

    def _use_template(self) -> None:
        """Copy the database's cluster of an earlier ephemeral installation, or make one for later ones."""
        if ephemeral.early_copy and ephemeral.early_copy.wait():
            return
        with (
            services(settings.STATE_DIR, postgres=True, durable=False),
            value_of_fork("skerry prepare", self._seeded, ONE_LINE_ERRORS) as seeded,
        ):
            seeded()
        ephemeral.keep_template(settings.STATE_DIR)

    @contextmanager
    def _seeded(self) -> Iterator[None]:
        resume_full_collections()
        with one_line_errors(cannot_use, which=always):
            self._migrate()
            seed()
            connections.close_all()
            yield

    @contextmanager
    def _prepared(self, services_run: int, lock: bool) -> Iterator[demo.Logins]:
        """Bring the database up to date, and yield the logins of the demo account. `services_run` is a pipe with a
        byte as soon as the database runs. With `lock`, the database is locked for the length of the block.
        """
        resume_full_collections()
        os.read(services_run, 1)
        with one_line_errors(cannot_use, which=always), database_locked() if lock else nullcontext():
            known = self._prepare()
            connections.close_all()
            yield known

    def _prepare(self) -> demo.Logins:
        """Bring the database up to date. Return the logins of the demo account.

        An ephemeral installation's database is a copy of a template that is up to date.
        """
        if not self.ephemeral:
            self._migrate()
        with self.progress.phase("Seeding the catalogue and the demo account"):
            if not self.ephemeral:
                seed()
            known = with_demo_account(demo.logins(settings.STATE_DIR), staff_account=self.ephemeral)
            demo.keep(settings.STATE_DIR, known)
        if settings.HYPERVISOR == "QEMU":
            with self.progress.waiting(BOOTING):
                call_command("host_local", verbosity=0)
        return known

    def _migrate(self) -> None:
        migrating = "Migrating the database"
        with self.progress.phase(migrating):
            report = self._counter(migrating)
            call_command(Migrate(report=report), interactive=False, verbosity=0)

    def _counter(self, text: str) -> Callable[[int, int], None]:
        return lambda applied, total: self.progress.count(f"{text}: {applied} of {total}")

    def _run(self, ports: list[int], processes: list[Child], known: demo.Logins, keeper: "Keeper") -> None:
        """Run `processes`, of which the API listens on the first of `ports`, until a signal stops them."""
        say = self.progress.say
        with Supervisor(processes, keeper.tend, say) as supervisor:
            # A line that is not rewritten: from here on the children write to the terminal as well.
            say("Starting the API, a worker and the clock")
            ready = supervisor.run_until(lambda: all(map(serves, ports)), START_SECONDS)
            if ready is False:
                raise CommandError(f"The API does not answer after {START_SECONDS} seconds.")
            if ready:
                ready = supervisor.run_until(works, WORKER_SECONDS)
            if ready is False:
                say("No worker answers, so jobs wait. The reason is in the lines above.")
            if ready is not None:
                say(f"Ready after {self.progress.seconds():.1f} s")
                self.output.write(self._description(ports[0], known) + "\n")
                self.output.flush()
                supervisor.run_until(lambda: False)
            say("Stopping")

    def _description(self, port: int, known: demo.Logins) -> str:
        if self.ephemeral:
            return demo.description(port, known)
        return demo.banner(port, known, demo.REAL if settings.HYPERVISOR == "QEMU" else demo.SIMULATED)


def stop(number: int, frame: FrameType | None) -> NoReturn:
    """Raise `KeyboardInterrupt` once: a second signal would interrupt the stop, and leave services running."""
    for each in STOP_SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def line_alone() -> TextIO:
    """Return the standard output for one line of JSON. From now on, all else is written to the standard error,
    also by processes that are started later.
    """
    sys.stdout.flush()
    alone = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return alone


def seed() -> None:
    with redirect_stdout(StringIO()):
        call_command("seed", demo=True, verbosity=0)


@transaction.atomic
def with_demo_account(known: demo.Logins, *, staff_account: bool = False) -> demo.Logins:
    """Create missing parts of the demo account and its tokens. Return the logins with tokens that work.

    A new account gets an example instance. If this machine is a host, it gets none: its owner creates a real one.
    With `staff_account`, a new staff user has an account of its own and a token, which sees no other account.
    """
    owner = ensure_demo(
        staff_password=known.staff,
        owner_password=known.owner,
        restricted_password=known.restricted,
        staff_account=staff_account,
    )
    if owner and settings.HYPERVISOR == "SIMULATED":
        create_example(owner)
    return replace(
        known,
        owner_token=ensure_token(OWNER, known.owner_token),
        restricted_token=ensure_token(RESTRICTED, known.restricted_token),
        staff_token=ensure_token(STAFF, known.staff_token) if staff_account else "",
    )


class Keeper:
    """Restarts embedded services that died. Ends an ephemeral installation if the process that started it ended."""

    def __init__(self, shared: list[Shared], say: Any, ephemeral_: bool) -> None:
        self.shared = shared
        self.say = say
        self.next_try = 0.0
        self.ancestors = ephemeral.started_by if ephemeral_ else ()

    def tend(self) -> None:
        if self.ancestors and self.ancestors != ephemeral.ancestors():
            os.kill(os.getpid(), signal.SIGTERM)  # the supervisor takes the signal when it waits next
        if time.monotonic() < self.next_try:
            return
        for service in self.shared:
            try:
                if service.revive():
                    self.say(f"{service.server.name} stopped and was started again")
            except EmbeddedError as error:
                self.say(str(error))
                self.next_try = time.monotonic() + REVIVE_PAUSE


def use_addresses(port: int, stream_port: int | None) -> None:
    """Set the addresses of the site and of the streams: settings were read before this command chose the ports.

    The variables are for processes that read the settings again.
    """
    os.environ["PORT"] = str(port)
    if not is_set("SITE_URL"):
        settings.SITE_URL = f"http://127.0.0.1:{port}"
    if stream_port:
        os.environ.setdefault("STREAM_URL", f"http://127.0.0.1:{stream_port}")
        settings.STREAM_URL = os.environ["STREAM_URL"]


def read_port(text: str) -> int:
    """Return the port number in `text`. Raises `CommandError` if it contains none."""
    if not text.strip().isascii() or not text.strip().isdigit() or int(text) not in PORTS:
        raise CommandError(f"PORT must be a number from {PORTS[0]} to {PORTS[-1]}, not {text!r}.")
    return int(text)


def refuse_taken(port: int) -> None:
    """Raise `CommandError` if something listens on `port`: several servers could share it unnoticed."""
    try:
        bound(port)
    except OSError as error:
        other = port + 1 if port + 1 in PORTS and port >= FIRST_UNPRIVILEGED else demo.DEFAULT_PORT
        raise CommandError(
            f"Port {port} cannot be used: {error.strerror}. Choose another one: {serve_command(PORT=other)}"
        ) from error


def port_for_streams(port: int) -> int:
    """Return the port after this one or, if it is taken, any free port."""
    for wanted in (port + 1, 0):
        with suppress(OSError, OverflowError):  # taken, or above the last port
            return bound(wanted)
    raise CommandError("No port is free for streams.")


def starting(postgres: bool, valkey: bool) -> str:
    """Return the line of the phase that starts the embedded services. It names servers that replace them."""
    if postgres and valkey:
        return "Starting PostgreSQL and Valkey"
    if postgres:
        return "Starting PostgreSQL (using the Redis of REDIS_URL)"
    if valkey:
        return "Starting Valkey (using the PostgreSQL of DATABASE_URL)"
    return "Using the PostgreSQL of DATABASE_URL and the Redis of REDIS_URL"


def cannot_use(message: str) -> str:
    """Return the line for the database's `message`: the disk of the embedded one may be full."""
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
        return bool(app.control.ping(timeout=0.25, limit=1))
    except (BrokerError, RedisError, OSError):
        return False


def serves(port: int) -> bool:
    """Tell whether the API answers, which means that it reaches its database."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False
