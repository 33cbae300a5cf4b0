"""The counting of a drill is right: real faults are found, and nothing else. One quick drill is real."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from psycopg.conninfo import make_conninfo

from compute.drivers.base import DiskSpec
from compute.drivers.simulated import SimulatedDriver
from tests.compute.drivers.machines import MACHINE, boot_spec, machine_spec, make_machine, run_machine
from tests.drill import counting, figures, means
from tests.drill.crowding.suite import ATTACKS
from tests.drill.figures import Answer, Effect, Log, Window, doubled, missing, percentile
from tests.drill.limits import EACH, MAX_MADE, RACERS, Race
from tests.drill.means import Clock, Skipped
from tests.drill.report import Report
from tests.drill.standstill.scene import SLOTS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([3.0], 0.99, 3.0), ([2.0, 1.0], 0.5, 1.0), (range(1, 101), 0.99, 99), (range(1, 101), 0.5, 50)],
)
def test_a_percentile_is_a_value_that_was_measured(values, share, expected):
    assert percentile(list(values), share) == expected


def test_a_percentile_needs_values():
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


def test_failures_are_counted_by_the_service_that_was_down():
    log = Log(
        [Answer(1, 2, 503, "before"), Answer(9, 11, 503, "into it"), Answer(31, 32, 500, "after"),
         Answer(51, 52, 503, "without a broker"), Answer(12, 13, 200, "well"), Answer(12, 13, 0, "none")],
        [Window("database", 10, 20), Window("broker", 50, 60)],
    )  # fmt: skip
    found = log.failures()
    assert [each.what for each in found["up"]] == ["before", "after", "without a broker"]
    assert [each.what for each in found["database"]] == ["into it"]
    assert log.classes() == {"2xx": 1, "5xx": 4, "none": 1}
    assert Window("database", 10, 20).meets(20 + figures.GRACE, 40)


def test_effects_are_doubled_within_a_job_and_not_by_another():
    start = Effect("start", "skerry-1", 7, "boot", "active")
    again = Effect("start", "skerry-1", 8, "boot", "active")
    undone = Effect("start", "skerry-1", 7, "boot", "undoing")
    assert doubled([start, again, undone]) == []
    assert doubled([start, again, start]) == [(start, 2)]
    made = [Effect("create disk", "skerry-1-disk-1", job) for job in (7, 8)]
    assert doubled(made) == [(Effect("create disk", "skerry-1-disk-1"), 2)], "a name is given once"


def test_effects_without_a_job_are_stray():
    expected = [Effect("start", "m", 7, "boot", "active"), Effect("start", "m", 7, "snapshot", "undoing")]
    strange = [Effect("start", "m"), Effect("start", "m", 7, "shutdown", "active")]
    assert counting.stray([*expected, *strange, Effect("define", "m")]) == strange


def test_acknowledged_requests_without_an_event_are_missing():
    acknowledged = Counter({("compute_boot", 1): 2, ("compute_create", 1): 1})
    assert missing(acknowledged, Counter({("compute_boot", 1): 1, ("compute_create", 1): 4})) == {
        ("compute_boot", 1): 1
    }


def test_a_limit_is_exact_where_all_others_are_refused():
    others = RACERS * EACH - MAX_MADE
    assert Race("tags", {200: MAX_MADE, 400: others}, MAX_MADE).exact
    assert not Race("tags", {200: MAX_MADE + 1, 400: others - 1}, MAX_MADE + 1).exact
    assert not Race("tags", {200: MAX_MADE, 400: others - 1, 500: 1}, MAX_MADE).exact


def test_a_report_ends_with_its_figures_and_names_failures():
    report = Report()
    report.figure("quiet p99", "10.4")
    report.figure("jobs failed because", "The volume was deleted.: 9")
    report.nothing("leaked things", [])
    assert not report.failures
    report.nothing("doubled steps", [f"step {number}" for number in range(100)])
    *_, blank, waited, leaked, doubled_steps = report.lines()
    assert (blank, waited, leaked) == ("", "drill quiet-p99 10.4", "drill leaked-things 0")
    assert doubled_steps == "drill doubled-steps 100"
    [failure] = report.failures
    assert failure.startswith("doubled steps: 100\n  step 0\n")
    assert list(report.lines())[4] == f"\nFAILED {failure}"


def test_parts_that_need_missing_tools_are_skipped_with_a_reason(monkeypatch, tmp_path):
    monkeypatch.setattr(means, "PLACES", (f"{tmp_path}/*",))
    with pytest.raises(Skipped, match="libfaketime, which is not installed"):
        Clock(tmp_path / "clock")
    monkeypatch.setattr(means.os, "geteuid", lambda: 1000)
    with pytest.raises(Skipped, match="needs root"), means.disk(tmp_path / "disk"):
        raise AssertionError("there is a disk")
    assert not (tmp_path / "disk").exists()


@pytest.fixture
def simulated(transactional_db) -> Iterator[SimulatedDriver]:
    """An empty hypervisor that takes no time."""
    params = connection.get_connection_params()
    keep = {key: params[key] for key in ("host", "port", "user", "password") if params.get(key)}
    driver = SimulatedDriver(make_conninfo(dbname=connection.settings_dict["NAME"], **keep), scale=0, timeout=600)
    driver.forget_all()
    yield driver
    driver.forget_all()
    driver.close()


@pytest.fixture
def watched(simulated: SimulatedDriver) -> Iterator[SimulatedDriver]:
    """A hypervisor whose effects are recorded."""
    counting.watch(simulated._session.conninfo)
    yield simulated
    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA drill CASCADE")


def test_a_question_for_progress_is_no_effect(watched):
    def begun() -> list[tuple[str, str]]:
        return [(each.effect, each.name) for each in counting.effects(watched._session.conninfo)]

    make_machine(watched)
    made = begun()
    watched.define(machine_spec())
    assert begun() == made
    run_machine(watched)
    watched.start(MACHINE, boot_spec())
    assert begun() == [*made, ("start", MACHINE)]
    watched.stop(MACHINE)
    watched.stop(MACHINE)
    watched.create_disk(MACHINE, DiskSpec("another", 100, "ext4"))
    watched.create_disk(MACHINE, DiskSpec("another", 100, "ext4"))
    assert begun() == [*made, ("start", MACHINE), ("stop", MACHINE), ("create disk", "another")]
    watched.undefine(MACHINE)
    assert ("undefine", MACHINE) in begun()


def test_objects_only_on_the_hypervisor_are_leaks(simulated):
    before = counting.leaks(simulated)
    make_machine(simulated)
    assert [each for each in counting.leaks(simulated) if each not in before] == [
        f"machine {MACHINE} of no instance"
    ]


@pytest.mark.system
@pytest.mark.timeout(1200)  # four parts with servers of their own, on cores that other tests use too
def test_a_quick_drill_loses_nothing_and_prints_its_counts(tmp_path):
    """Times are not judged, neither of a standstill nor of others in an attack: other tests run at the same
    time."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.drill", "--quick"],
        cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    printed = dict(line.split()[1:] for line in ended.stdout.splitlines() if line.startswith("drill "))
    nothing = (
        "jobs-unfinished doubled-steps effects-of-no-job leaked-things 5xx-while-all-was-up limits-not-exact"
        " attacks-with-errors-for-others attacks-answered-500 wrong-beside-what-stood-still"
    )
    assert {name: printed.get(name) for name in nothing.split()} == dict.fromkeys(nothing.split(), "0"), (
        ended.stdout[-6000:] + ended.stderr[-6000:]
    )
    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-6000:]
    assert int(printed["jobs-accepted"]) > 0 < int(printed["steps-with-an-effect"])
    assert {f"{name.replace(' ', '-')}-p99" for name in ATTACKS} <= printed.keys()
    assert int(printed["most-messages-that-waited"]) > 0 < int(printed["most-live-jobs"])
    assert printed["processes-that-work-after-the-freezes"] == str(SLOTS)
