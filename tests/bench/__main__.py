"""``python -m tests.bench``: run the benchmark and print its figures. See docs/performance.md."""

import argparse
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn
from urllib.parse import quote

from tests.bench import redis_keys, start
from tests.bench.databases import BASE_DIR, Databases
from tests.bench.errors import BenchError

# Raised, not removed: each request still counts against all its limits.
RAISED = "1000000000/60"


@contextmanager
def backends() -> Iterator[Databases]:
    """Yield databases on the PostgreSQL of the environment, or on embedded services in a state folder of the
    benchmark.

    During the block, DATABASE_URL names the database of this run, and every process that it starts inherits it.
    """
    from config.laptop.embedded import addresses, services

    state = (BASE_DIR / os.environ.get("STATE_DIR", ".state") / "bench").resolve()
    postgres, valkey = "DATABASE_URL" not in os.environ, "REDIS_URL" not in os.environ
    if postgres:
        where = addresses.database(state)
        host = quote(where["HOST"], safe="")
        os.environ["DATABASE_URL"] = f"postgres://{where['USER']}@{host}:{where['PORT']}/{where['NAME']}"
    if valkey:
        os.environ["REDIS_URL"] = addresses.redis_url(state)
    with services(state, postgres=postgres, valkey=valkey):
        databases = Databases(os.environ["DATABASE_URL"])
        os.environ["DATABASE_URL"] = databases.url_of(databases.prefix)
        try:
            yield databases
        finally:
            redis_keys.forget()


def configure() -> None:
    """Set the environment of the servers and of this process: production, with raised limits."""
    os.environ.update(
        DJANGO_SETTINGS_MODULE="config.settings",
        PRODUCTION="1",
        REHEARSAL="1",
        SECRET_KEY="0123456789abcdef" * 4,
        ALLOWED_HOSTS="127.0.0.1",
        REDIS_PREFIX=redis_keys.PREFIX,
        RATE_LIMIT_OVERALL=RAISED,
        RATE_LIMIT_ENDPOINT=RAISED,
        RATE_LIMIT_INSTANCE_CREATE=RAISED,
        RATE_LIMIT_EXPENSIVE=RAISED,
        DRIVER_SCALE="0",
        DRAIN_SECONDS="0",
    )


def main() -> None:
    arguments = parse()
    signal.signal(signal.SIGTERM, end)
    folder = Path(tempfile.mkdtemp(prefix="skerry-bench-"))
    try:
        if arguments.start:
            start.run(folder)
        else:
            configure()
            measure(folder, arguments)
    except BenchError as error:
        sys.exit(f"{error}\nThe processes' output is in {folder}")
    shutil.rmtree(folder)


def measure(folder: Path, arguments: argparse.Namespace) -> None:
    with backends() as databases:
        import django

        django.setup()
        from tests.bench import suite

        if arguments.drop:
            databases.drop_all()
        else:
            suite.run(databases, folder, quick=arguments.quick, fresh=arguments.fresh)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, for a first impression")
    parser.add_argument("--fresh", action="store_true", help="fill the databases again")
    parser.add_argument("--start", action="store_true", help="only measure the start of make serve, and its memory")
    parser.add_argument("--drop", action="store_true", help="only drop the databases that are kept between runs")
    return parser.parse_args()


def end(number: int, frame: FrameType | None) -> NoReturn:
    """Raise an exception to exit, so that all started processes are stopped."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
