"""The cases one after the other, on one installation, with the findings of each."""

# ruff: noqa: T201  (this module prints its results)

import signal
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack

from config.db.clock import database_now
from tests.drill.installation import Installation, Kept, families, signalled
from tests.drill.report import SHOWN, Report
from tests.drill.standstill import broker, deletions, flood, outage, silence
from tests.drill.standstill.customers import unfinished, wait_for
from tests.drill.standstill.findings import Findings
from tests.drill.standstill.scene import WORKERS, Form, Scene

CASES: dict[str, Callable[[Scene], Findings]] = {
    "flood": flood.play,
    "freezes": broker.play,
    "silence": silence.play,
    "outage": outage.play,
    "deletions": deletions.play,
}
"""The cases, in an order in which each has the instances that it needs."""


def play(site: Installation, form: Form, cases: Collection[str], report: Report) -> None:
    """Play the cases while a second worker runs, in the order of `CASES`."""
    with ExitStack() as stack:
        other = stack.enter_context(site.elsewhere("worker", {}, "--hostname", "drill@%h"))
        scene = Scene.of(site, form)
        stack.callback(scene.hypervisor.close)
        scene.create_quiet_instances()
        wrong, slow = [], []
        for name in [each for each in CASES if each in cases]:
            found = judged(name, CASES[name], scene)
            for figure, value in found.figures().items():
                report.figure(figure, value)
            wrong += [f"{name}: {each}" for each in found.wrong]
            slow += found.missed
            if found.wrong:
                _restart(scene, other)
    report.nothing("wrong beside what stood still", wrong)
    if form.judges_times:
        report.nothing("slower than promised", slow)


def judged(name: str, case: Callable[[Scene], Findings], scene: Scene) -> Findings:
    """Return the findings of a case. If times are judged and a case only took too long, play it once more."""
    found = _played(name, case, scene)
    if scene.form.judges_times and found.missed and not found.wrong:
        print(f"    again: {'; '.join(found.missed)}", flush=True)
        found = _played(name, case, scene)
    return found


def _played(name: str, case: Callable[[Scene], Findings], scene: Scene) -> Findings:
    begun = time.monotonic()
    found = case(scene)
    print(f"  {name}: {time.monotonic() - begun:.0f} s", flush=True)
    for each in found.wrong[:SHOWN]:
        print(f"    {each}", flush=True)
    return found


def _restart(scene: Scene, other: Kept) -> None:
    """Replace the workers if a case has left jobs that wait forever. The next case is judged by itself."""
    for each in families([other.pid, *(each.pid for each in scene.site.workers())]):
        signalled(each, signal.SIGKILL)
    since = database_now()
    wait_for(lambda: len(scene.workers_seen(since)) == WORKERS and not unfinished())
