"""Print the figures. The last six lines are for programs: ``bench <name> <number>``."""

# ruff: noqa: T201  (this module prints its results)

from statistics import median

from tests.bench.growth import Growth
from tests.bench.jobs import JobRates
from tests.bench.load import Round
from tests.bench.pages import PageTimes
from tests.bench.pages import lines as lines_of_pages
from tests.bench.probes import Lateness
from tests.bench.processor import Spent
from tests.bench.rounds import Comparison, each, percentile, rate

HEAD = (
    f"{'':10}{'ours/s':>9}{'bare/s':>9}{'ratio':>7}   {'ours p50':>9}{'p99':>8}   {'bare p50':>9}{'p99':>8}  load"
)


def show(comparisons: list[Comparison], growth: Growth, jobs: JobRates, late: Lateness, pages: PageTimes) -> None:
    """Print everything on standard output."""
    print()
    print(HEAD)
    for one in comparisons:
        print(line(one))
    print("\nlatencies in ms with 16 connections; load: share of a core that the load itself took, ours / bare\n")
    print("microseconds of processor time for each request, of web / database / Redis processes")
    for one in comparisons:
        print(f"{one.name:10}ours {spent(one.ours, one.spent[0])}   bare {spent(one.bare, one.spent[1])}")
    print()
    small, large = median(growth.small), median(growth.large)
    print(f"page 1 of a list: {small:.2f} ms among 1,000 rows of others, {large:.2f} ms among 1,000,000")
    print(f"jobs: {jobs.jobs:.0f} boots/s, {jobs.noops:.0f} no-op tasks/s through two workers")
    print(probes_line(late))
    print("\n".join(lines_of_pages(pages)) + "\n")
    for one in comparisons:
        print(f"bench {one.name} {one.ratio:.2f}")
    print(f"bench growth {growth.ratio:.2f}")
    print(f"bench jobs {jobs.ratio:.2f}")


def line(one: Comparison) -> str:
    latencies = "   ".join(
        f"{percentile(rounds, 50):9.2f}{percentile(rounds, 99):8.2f}" for rounds in (one.ours, one.bare)
    )
    cpu = " / ".join(
        f"{sum(r.cpu for r in rounds) / sum(r.seconds for r in rounds):.2f}" for rounds in (one.ours, one.bare)
    )
    return f"{one.name:10}{rate(one.ours):9.0f}{rate(one.bare):9.0f}{one.ratio:7.2f}   {latencies}  {cpu}"


def spent(rounds: list[Round], seconds: list[Spent]) -> str:
    return " / ".join(f"{microseconds:5.0f}" for microseconds in each(rounds, seconds))


def probes_line(late: Lateness) -> str:
    figures = " / ".join(f"{late.percentile(percent):.2f}" for percent in (50, 95, 100))
    return (
        f"probes: {figures} s late (median, 95%, most) at 1,000 services a minute with slow and dead"
        f" ones, for {late.cpu:.2f} of a core; {late.rate:.0f} checks/s when all are due at once"
    )
