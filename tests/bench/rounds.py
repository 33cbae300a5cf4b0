"""Ours and bare under the same load in alternation, and what comes of it."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from tests.bench import load
from tests.bench.servers import Served


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rounds of one kind of request against both servers, in the order in which they ran."""

    name: str
    ours: list[load.Round]
    bare: list[load.Round]
    spent: tuple[list[float], list[float]]
    """Seconds of processor time that the servers' processes took in each round, ours and the bare one's."""

    @property
    def ratio(self) -> float:
        """Our requests per second over the bare server's: the median of the pairs of rounds."""
        return statistics.median(ours.rate / bare.rate for ours, bare in zip(self.ours, self.bare, strict=True))


def each(rounds: list[load.Round], spent: list[float]) -> float:
    """Microseconds of a server's processor time for each request, of all rounds."""
    return 1e6 * sum(spent) / sum(len(one.latencies) for one in rounds)


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
    spent: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for server, kept, times in zip(servers, seen, spent, strict=True):
            before = server.processor()
            kept.append(load.run(server.port, requests, seconds))
            times.append(server.processor() - before)
    return Comparison(name, *seen, spent)
