"""Our server and the bare one under the same load in alternation, and the results."""

import statistics
from collections.abc import Iterator
from dataclasses import astuple, dataclass

from tests.bench import load
from tests.bench.processor import Spent
from tests.bench.servers import Served


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rounds of one kind of request against both servers, in order of time."""

    name: str
    ours: list[load.Round]
    bare: list[load.Round]
    spent: tuple[list[Spent], list[Spent]]
    """The processor time of each round, for our server and for the bare one."""

    @property
    def ratio(self) -> float:
        """Return our requests per second over the bare server's: the median of the pairs of rounds."""
        return statistics.median(ours.rate / bare.rate for ours, bare in zip(self.ours, self.bare, strict=True))


def each(rounds: list[load.Round], spent: list[Spent]) -> list[float]:
    """Return microseconds of processor time for each request, as medians of the rounds.

    There is one value each for the web, database and Redis processes.
    """
    return [
        statistics.median(1e6 * of_kind / len(one.latencies) for of_kind, one in zip(kind, rounds, strict=True))
        for kind in zip(*map(astuple, spent), strict=True)
    ]


def rate(rounds: list[load.Round]) -> float:
    """Return the median of the rounds' requests per second."""
    return statistics.median(one.rate for one in rounds)


def percentile(rounds: list[load.Round], percent: float) -> float:
    """Return the latency in milliseconds that `percent` of all requests did not exceed."""
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
