"""``python -m tests.fuzzing``: many random and malformed requests, and their results: docs/fuzzing.md."""

# ruff: noqa: T201  (this module prints its results)

import argparse
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FULL_RUN, QUICK_RUN = (50_000, 100), (3_000, 10)
"""Requests to the server, and requests drawn for each operation."""
SENDERS = 4
WARMING = 10
"""After one in so many requests, a process has all that it keeps: caches, connections, code."""
GROWTH = 1.1
"""The factor by which memory may grow from there on."""
JUDGED = 20_000
"""The number of requests from which memory is judged. With fewer, the figure means little."""


def main() -> None:
    arguments = parse()
    print(f"seed {arguments.seed}: FUZZ_SEED and --seed repeat what it draws", flush=True)
    started = time.monotonic()
    failures = [*operations(arguments.seed, arguments.examples), *sockets(arguments.seed, arguments.requests)]
    print(f"\n{time.monotonic() - started:.0f} s in all")
    for failure in failures:
        print(f"\nFAILED: {failure}")
    sys.exit(bool(failures))


def operations(seed: str, examples: int) -> list[str]:
    """Send requests drawn from the document, straight into the application. pytest itself prints the failures."""
    print(f"\nEvery operation: its bounds, and {examples} requests by chance", flush=True)
    with tempfile.NamedTemporaryFile(suffix=".counts") as counts:
        chosen = {"FUZZ_SEED": seed, "FUZZ_EXAMPLES": str(examples), "FUZZ_COUNTS": counts.name}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            str(os.cpu_count()),
            "tests/fuzzing/test_operations.py",
        ]
        ended = subprocess.run(command, env={**os.environ, **chosen})
        statuses = Counter[str]()
        for line in Path(counts.name).read_text().splitlines():
            statuses += Counter(json.loads(line))
    print(f"{statuses.total():,} requests, answered {summary(dict(sorted(statuses.items())))}")
    return [] if ended.returncode == 0 else ["an answer is outside of the document: see above"]


def sockets(seed: str, requests: int) -> list[str]:
    """Send bytes to a running server, with database, worker and clock."""
    import django

    folder = Path(tempfile.mkdtemp(prefix="skerry-fuzz-"))
    os.environ["STATE_DIR"] = str(folder / "ours")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from tests.fuzzing.bytes_sent import Maker
    from tests.fuzzing.sockets import Processes, Round, play, send
    from tests.running import running
    from tests.tours.server import LiveServer

    print(f"\nA server: {requests:,} requests, most of which are no good ones", flush=True)
    failures = []
    with running(LiveServer(folder)) as server, ThreadPoolExecutor(SENDERS) as pool:
        port, web = int(server.env["PORT"]), Processes(server.process.pid)
        makers = [Maker(f"{seed} {number}", server.token) for number in range(SENDERS)]
        rounds = [Round() for _ in makers]
        send(port, makers[0].good(), rounds[0])
        ids, fresh = web.ids(), web.memory()

        def round_of(count: int) -> None:
            list(pool.map(lambda maker, own: play(port, maker, count // SENDERS, own), makers, rounds))

        round_of(requests // WARMING)
        warm = web.memory()
        started = time.monotonic()
        round_of(requests - requests // WARMING)
        rate = (requests - requests // WARMING) / (time.monotonic() - started)
        after = web.memory()
        alive = Round()
        send(port, makers[0].good(), alive)
        if web.ids() != ids:
            failures.append("a process of the web server ended")
        if alive.classes() != {"2xx": 1}:
            failures.append(f"at the end a good request is answered {summary(alive.classes())}")
    found = Round.of(rounds)
    failures += found.findings
    print(f"{found.requests:,} requests, {rate:.0f} a second, answered {summary(found.classes())}")
    print(f"in detail: {summary(dict(found.statuses.most_common()))}")
    print("the slowest:", *(f"  {seconds * 1000:6.0f} ms  {what}" for seconds, what in found.slowest), sep="\n")
    print(f"memory of the web processes: {fresh:.0f} MB, warm {warm:.0f} MB, at the end {after:.0f} MB")
    if requests >= JUDGED and after > warm * GROWTH:
        failures.append(f"memory grew from {warm:.0f} to {after:.0f} MB")
    if failures:
        print(f"the output of the server is in {folder / 'log'}")
    else:
        shutil.rmtree(folder)
    return failures


def summary(counts: dict[str, int]) -> str:
    return ", ".join(f"{status} {count:,}" for status, count in counts.items())


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="send few requests, and do not check the memory")
    parser.add_argument("--requests", type=int, help=f"number of requests to the server (default: {FULL_RUN[0]:,})")
    parser.add_argument(
        "--examples", type=int, help=f"number of examples for each operation (default: {FULL_RUN[1]})"
    )
    parser.add_argument("--seed", default=secrets.token_hex(4), help="seed of the random numbers")
    arguments = parser.parse_args()
    requests, examples = QUICK_RUN if arguments.quick else FULL_RUN
    arguments.requests = requests if arguments.requests is None else arguments.requests
    arguments.examples = examples if arguments.examples is None else arguments.examples
    return arguments


if __name__ == "__main__":
    main()
