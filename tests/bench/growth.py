"""Measure whether page 1 of a list slows down as the table grows.

The same account has the same 100 instances, among 1,000 of other accounts and among 1,000,000. Each database
has one server with one connection. The turns are short, so that other load on the machine affects both.
"""

import statistics
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.bench import data, load
from tests.bench.databases import Databases
from tests.bench.rounds import percentile
from tests.bench.servers import OURS, server
from tests.bench.traffic import lists

SMALL = data.Sizes(accounts=11, instances=1_100, addresses=False)
LARGE = data.Sizes(accounts=10_001, instances=1_000_100, addresses=False)
ONE_ACCOUNT = data.Sizes(accounts=1)


@dataclass(frozen=True, slots=True)
class Growth:
    """Milliseconds of page 1 in the small and in the large table, one median for each turn."""

    small: list[float]
    large: list[float]

    @property
    def ratio(self) -> float:
        """The median of the turns' ratios. Each ratio compares two measurements that directly follow each
        other."""
        return statistics.median(large / small for small, large in zip(self.small, self.large, strict=True))


def measure(databases: Databases, log: Path, *, turns: int, seconds: float, fresh: bool = False) -> Growth:
    """Take `turns` on each database, each of `seconds`. Fills the databases if they are not filled yet."""
    names = [
        databases.seeded(suffix, sizes.key, partial(data.fill, sizes=sizes), fresh)
        for suffix, sizes in (("_small", SMALL), ("_large", LARGE))
    ]
    requests = lists(ONE_ACCOUNT)
    seen: tuple[list[float], list[float]] = ([], [])
    with ExitStack() as stack:
        servers = [
            stack.enter_context(server(OURS, {"DATABASE_URL": databases.url_of(name)}, log, workers=1))
            for name in names
        ]
        for served in servers:
            load.run(served.port, requests, 0.5, connections=1)
        for _ in range(turns):
            for served, medians in zip(servers, seen, strict=True):
                medians.append(percentile([load.run(served.port, requests, seconds, connections=1)], 50))
    return Growth(*seen)
