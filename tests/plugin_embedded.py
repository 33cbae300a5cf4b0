"""A pytest plugin: tests need no service. Loaded by ``-p`` in pyproject.toml, before Django's settings.

Where DATABASE_URL or REDIS_URL is unset the embedded service takes its place, in a state folder of
the tests' own. With pytest-xdist the first process starts them and its workers inherit where they
are; each worker has a database of its own (pytest-django) and a prefix of its own for keys in Redis.
Two runs would destroy each other's databases, so each holds a lock on its state folder, and on the database's name.
A run that is ended by SIGTERM or SIGHUP ends as by Ctrl-C, and stops the services that it has started.
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
        # Random, for others may run the same tests on the same Redis.
        os.environ["REDIS_PREFIX"] = f"test-{secrets.token_hex(4)}:"
    else:
        os.environ["REDIS_PREFIX"] += f"{WORKER}:"
    yield


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    from django.conf import settings

    # Each test client builds the middleware anew, which must not walk all static files each time.
    settings.WHITENOISE_AUTOREFRESH = True
    if WORKER is None and not (config.option.collectonly or config.option.help):
        _end_by_signals(config)
        _start(config, settings.STATE_DIR)


def _end_by_signals(config: pytest.Config) -> None:
    """Have SIGTERM and SIGHUP end the run as Ctrl-C does: at the end of the process, its services are stopped.

    The first signal alone counts. ``timeout`` sends two, and a second interrupt would end the stop of a service.
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
        if before == signal.SIG_DFL:  # nohup ignores SIGHUP, and means it
            signal.signal(number, end)
            config.add_cleanup(lambda number=number: signal.signal(number, signal.SIG_DFL))


def _start(config: pytest.Config, state: Path) -> None:
    from config.environment import is_set
    from config.laptop.embedded import EmbeddedError, services

    stack = ExitStack()
    # Callbacks run in reverse: the keys go while the server is there, and the locks are free when it has stopped.
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
    """The files that a run locks, and the names of what is then its own: its folder, and a database on a server.

    Runs on one database from two machines are not told of each other.
    """
    from django.conf import settings

    from config.environment import is_set

    yield state / "tests.lock", str(state)
    if is_set("DATABASE_URL"):
        found = settings.DATABASES["default"]
        place = f"{found['HOST']}:{found['PORT']}/{found['NAME']}"
        digest = hashlib.sha256(place.encode()).hexdigest()[:16]
        yield Path(tempfile.gettempdir()) / f"tests-{os.getuid()}-{digest}.lock", f"the database {found['NAME']}"


@contextmanager
def alone(path: Path, what: str) -> Iterator[None]:
    """Lock the file for the length of the block. Raises `pytest.UsageError` while another process has it.

    The lock is this process's: it ends with it, however it ends, and no process that a test starts has it.
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
    """Delete what this run left in Redis, which may be somebody's."""
    import redis
    from django.conf import settings

    client = redis.Redis.from_url(settings.REDIS_URL)
    try:
        keys = list(client.scan_iter(match=f"{os.environ['REDIS_PREFIX']}*", count=1000))
        if keys:
            client.delete(*keys)
    except redis.ConnectionError:
        pass  # a test stopped it; with it went the keys
    finally:
        client.close()


@pytest.fixture
def process_env(db: None) -> dict[str, str]:
    """The environment for a process a test starts, so that it uses the test's database and Redis.

    The test must commit what the process is to see (``transactional_db``).
    """
    return environment()


def environment() -> dict[str, str]:
    """As `process_env`, for what lives longer than a test. The test database must have been made."""
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
