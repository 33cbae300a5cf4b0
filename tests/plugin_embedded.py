"""A pytest plugin: tests need no service. Loaded by ``-p`` in pyproject.toml, before Django's settings.

If DATABASE_URL or REDIS_URL is unset, the embedded service takes its place, in a state folder of the tests'
own. With pytest-xdist, the first process starts the services, and its workers inherit their addresses. Each
worker has a database of its own (pytest-django) and a prefix of its own for keys in Redis.

Two runs would destroy each other's databases, so each run locks its state folder and the database's name. A run
that is ended by SIGTERM or SIGHUP ends as by Ctrl-C, and stops its services.
"""

import fcntl
import hashlib
import os
import secrets
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

import pytest

ROOT = Path(__file__).resolve().parent.parent
WORKER = os.environ.get("PYTEST_XDIST_WORKER")


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    """Point the settings at the tests' state folder, before pytest-django reads them."""
    if WORKER is None:
        os.environ["STATE_DIR"] = str((ROOT / os.environ.get("STATE_DIR", ".state")).resolve() / "test")
        # Random, because others may run the same tests on the same Redis.
        os.environ["REDIS_PREFIX"] = f"test-{secrets.token_hex(4)}:"
    else:
        os.environ["REDIS_PREFIX"] += f"{WORKER}:"
    yield


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    from django.conf import settings

    # Each test client builds the middleware anew, which must not scan all static files each time.
    settings.WHITENOISE_AUTOREFRESH = True
    if WORKER is None and not (config.option.collectonly or config.option.help):
        _end_by_signals(config)
        _start(config, settings.STATE_DIR)


def _end_by_signals(config: pytest.Config) -> None:
    """Make SIGTERM and SIGHUP end the run as Ctrl-C does. The services are stopped at the end of the process.

    Only the first signal counts. ``timeout`` sends two, and a second interrupt would end the stop of a service.
    """
    first = os.getpid()
    signals: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        if os.getpid() != first:  # a fork of a test, which starts no service
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        signals.append(number)
        if len(signals) == 1:
            raise KeyboardInterrupt(f"ended by {signal.Signals(number).name}")

    for number in (signal.SIGTERM, signal.SIGHUP):
        before = signal.getsignal(number)
        if before == signal.SIG_DFL:  # nohup ignores SIGHUP on purpose
            signal.signal(number, end)
            config.add_cleanup(lambda number=number: signal.signal(number, signal.SIG_DFL))


def _start(config: pytest.Config, state: Path) -> None:
    from config.environment.variables import is_set
    from config.laptop.embedded import EmbeddedError, services

    stack = ExitStack()
    # Callbacks run in reverse: the keys are deleted while the server runs, and the locks are released after it
    # stops.
    config.add_cleanup(stack.close)
    for path, what in locks(state):
        stack.enter_context(alone(path, what))
    try:
        stack.enter_context(
            services(
                state,
                postgres=not is_set("DATABASE_URL"),
                valkey=not is_set("REDIS_URL"),
                durable=False,
            )
        )
    except EmbeddedError as error:
        raise pytest.UsageError(str(error)) from error
    stack.callback(_forget_keys)


def locks(state: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files that a run locks, with the name of the locked thing: its folder, or a database on a
    server.

    Runs on one database from two machines do not see each other's lock.
    """
    from django.conf import settings

    from config.environment.variables import is_set

    yield state / "tests.lock", str(state)
    if is_set("DATABASE_URL"):
        found = settings.DATABASES["default"]
        place = f"{found['HOST']}:{found['PORT']}/{found['NAME']}"
        digest = hashlib.sha256(place.encode()).hexdigest()[:16]
        yield Path(tempfile.gettempdir()) / f"tests-{os.getuid()}-{digest}.lock", f"the database {found['NAME']}"


@contextmanager
def alone(path: Path, what: str) -> Iterator[None]:
    """Lock the file for the length of the block. Raises `pytest.UsageError` while another process holds the
    lock.

    The lock belongs to this process and ends with it. No process that a test starts inherits it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            raise pytest.UsageError(
                f"Another run of the tests is on {what}: wait for it, or give this one services of its own: "
                "make test STATE_DIR=/tmp/skerry-tests DATABASE_URL= REDIS_URL="
            ) from None
        yield


def _forget_keys() -> None:
    """Delete the keys of this run in Redis. The server may have others."""
    import redis
    from django.conf import settings

    client = redis.Redis.from_url(settings.REDIS_URL)
    try:
        keys = list(client.scan_iter(match=f"{os.environ['REDIS_PREFIX']}*", count=1000))
        if keys:
            client.delete(*keys)
    except redis.ConnectionError:
        pass  # a test stopped the server, and the keys are gone with it
    finally:
        client.close()


@pytest.fixture
def process_env(db: None) -> dict[str, str]:
    """The environment of a process that a test starts, so that it uses the test's database and Redis.

    The test must commit the rows that the process is to see (``transactional_db``).
    """
    return environment()


def environment() -> dict[str, str]:
    """Return the environment as `process_env` does, for processes that outlive a test. The test database must
    exist."""
    from urllib.parse import quote

    from django.db import connection

    found = connection.settings_dict
    login = quote(found["USER"] or "", safe="")
    if found["PASSWORD"]:
        login += f":{quote(found['PASSWORD'], safe='')}"
    host = quote(found["HOST"] or "", safe="")
    port = f":{found['PORT']}" if found["PORT"] else ""
    return os.environ | {
        "DATABASE_URL": f"postgres://{login}@{host}{port}/{quote(str(found['NAME']), safe='')}",
    }
