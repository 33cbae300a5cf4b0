"""Ours and bare under the same load in alternation, and what comes of it."""

import statistics
from collections.abc import Iterator
from dataclasses import astuple, dataclass

from tests.bench import load
from tests.bench.processor import Spent
from tests.bench.servers import Served


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rounds of one kind of request against both servers, in the order in which they ran."""

    name: str
    ours: list[load.Round]
    bare: list[load.Round]
    spent: tuple[list[Spent], list[Spent]]
    """The processor time that the processes took in each round of ours and of the bare server."""

    @property
    def ratio(self) -> float:
        """Our requests per second over the bare server's: the median of the pairs of rounds."""
        return statistics.median(ours.rate / bare.rate for ours, bare in zip(self.ours, self.bare, strict=True))


def each(rounds: list[load.Round], spent: list[Spent]) -> list[float]:
    """Microseconds of processor time for each request: of the web, database and Redis processes, each the median of
    the rounds."""
    return [
        statistics.median(1e6 * of_kind / len(one.latencies) for of_kind, one in zip(kind, rounds, strict=True))
        for kind in zip(*map(astuple, spent), strict=True)
    ]


def rate(rounds: list[load.Round]) -> float:
    """The median of the rounds' requests per second."""
    return statistics.median(one.rate for one in rounds)


def percentile(rounds: list[load.Round], percent: float) -> float:
    """The latency, in milliseconds, that `percent` of all requests stayed below."""
    latencies = sorted(latency for one in rounds for latency in one.latencies)
    return 1000 * latencies[min(int(len(latencies) * percent / 100), len(latencies) - 1)]


def alternate(
    name: str, servers: tuple[Served, Served], requests: Iterator[bytes], *, rounds: int, seconds: float
) -> Comparison:
    """Load our server and the bare one (`servers` in this order) in turns, after a short warm-up of each."""
    for server in servers:
        load.run(server.port, requests, min(seconds, 0.5))
    seen: tuple[list[load.Round], list[load.Round]] = ([], [])
    spent: tuple[list[Spent], list[Spent]] = ([], [])
    for _ in range(rounds):
        for server, kept, times in zip(servers, seen, spent, strict=True):
            before = server.processor.spent()
            kept.append(load.run(server.port, requests, seconds))
            times.append(server.processor.spent() - before)
    return Comparison(name, *seen, spent)
