"""Faults that can be scripted in the simulated hypervisor."""

import multiprocessing
import signal

import pytest

from compute.drivers.base import DriverError, FirewallSpec, Power, Refused, Unreachable
from compute.drivers.simulated import SimulatedDriver
from compute.drivers.simulated.driver import CALLS
from tests.compute.drivers.machines import (
    ARCHIVE,
    DISK,
    HOST,
    MACHINE,
    OTHER,
    PASSWORD,
    VOLUME,
    boot_spec,
    image_disk,
    machine_spec,
    make_machine,
    make_volume,
    run_machine,
    volume_spec,
)
from tests.ports import free_port

pytestmark = pytest.mark.django_db


def died_of(driver: SimulatedDriver, call: str, *args) -> int | None:
    """Make one call in another process, and return its exit code."""
    child = multiprocessing.get_context("fork").Process(target=getattr(driver, call), args=args)
    child.start()
    child.join(120)
    return child.exitcode


def test_a_failing_call_does_nothing_and_works_the_next_time(simulated):
    simulated.script("fail", call="define")
    with pytest.raises(DriverError) as caught:
        simulated.define(machine_spec())
    assert not isinstance(caught.value, Refused)
    assert simulated.power(MACHINE) is Power.ABSENT
    simulated.define(machine_spec())
    assert simulated.power(MACHINE) is Power.OFF


def test_a_refused_call_does_nothing(simulated):
    simulated.script("refuse", call="define", count=None)
    for _ in range(3):
        with pytest.raises(Refused):
            simulated.define(machine_spec())
    assert simulated.all_machines() == {}


@pytest.mark.parametrize(
    ("call", "args"),
    [
        ("define", (machine_spec(),)),
        ("create_disk", (MACHINE, image_disk("another"))),
        ("resize_disk", (MACHINE, DISK, 30000)),
        ("set_password", (MACHINE, DISK, PASSWORD)),
        ("save_disk", (MACHINE, DISK, ARCHIVE)),
        ("delete_disk", (MACHINE, DISK)),
        ("receive", (MACHINE, SimulatedDriver(""))),
        ("usage", ()),
        ("archive_upload", (ARCHIVE, "/nowhere", 100)),
        ("archive_size", (ARCHIVE,)),
        ("delete_archive", (ARCHIVE,)),
        ("create_volume", (volume_spec("skerry-volume-8"),)),
        ("resize_volume", (VOLUME, 30)),
        ("volume_size", (VOLUME,)),
        ("delete_volume", (VOLUME,)),
        ("plug", (MACHINE, VOLUME, "data")),
        ("unplug", (MACHINE, VOLUME)),
        ("disks", (MACHINE,)),
        ("start", (MACHINE, boot_spec())),
        ("stop", (MACHINE,)),
        ("set_firewall", (MACHINE, FirewallSpec(1))),
        ("power", (MACHINE,)),
        ("powered_off", ()),
        ("inventory", ()),
        ("set_aside", (MACHINE, DISK)),
        ("set_volume_aside", (VOLUME,)),
        ("discard", (MACHINE,)),
        ("undefine", (MACHINE,)),
    ],
)
@pytest.mark.parametrize("on", [False, True], ids=["off", "on"])
def test_every_call_can_fail_without_effect(simulated, call, args, on):
    (run_machine if on else make_machine)(simulated)
    make_volume(simulated)

    def all_there_is() -> tuple:
        rest = simulated.archives(), simulated.volumes(), simulated.plugged(MACHINE)
        return simulated.all_machines(), simulated.power(MACHINE), *rest

    before = all_there_is()
    simulated.script("fail", call=call)
    with pytest.raises(DriverError) as caught:
        getattr(simulated, call)(*args)
    assert not isinstance(caught.value, Refused)
    assert all_there_is() == before
    assert simulated.firewall(MACHINE) is None


def test_every_call_is_among_those_that_can_fail():
    cases = next(
        mark for mark in test_every_call_can_fail_without_effect.pytestmark if mark.args[0] == ("call", "args")
    )
    assert {call for call, _ in cases.args[1]} == CALLS


@pytest.mark.parametrize("host", [HOST, "us-test-h2"])
def test_a_move_fails_while_either_of_its_hosts_is_down(simulated, host):
    make_machine(simulated)
    simulated.script("unreachable", host=host, count=None)
    with pytest.raises(Unreachable) as caught:
        simulated.at(OTHER).receive(MACHINE, simulated)
    assert caught.value.host == host
    simulated.clear_faults()
    assert simulated.powered_off() == {MACHINE}


@pytest.mark.parametrize(
    ("call", "args"),
    [
        ("create_disk", (MACHINE, image_disk("another"))),
        ("resize_disk", (MACHINE, DISK, 30000)),
        ("set_password", (MACHINE, DISK, PASSWORD)),
        ("save_disk", (MACHINE, DISK, ARCHIVE)),
        ("delete_disk", (MACHINE, DISK)),
    ],
)
def test_nothing_is_done_to_the_disks_of_a_machine_on_its_way(make_simulated, call, args):
    make_machine(make_simulated())
    slowly = make_simulated(scale=1000)
    assert not slowly.at(OTHER).receive(MACHINE, slowly).done
    with pytest.raises(DriverError) as caught:
        getattr(slowly, call)(*args)
    assert not isinstance(caught.value, Refused)
    assert (slowly.all_machines(), slowly.archives()) == ({MACHINE: {DISK}}, frozenset())


def test_no_password_is_set_on_a_disk_that_is_half_made(make_simulated):
    slowly = make_simulated(scale=1000)
    slowly.define(machine_spec())
    assert not slowly.create_disk(MACHINE, image_disk()).done
    with pytest.raises(DriverError, match="not ready") as caught:
        slowly.set_password(MACHINE, DISK, PASSWORD)
    assert not isinstance(caught.value, Refused)


def test_slow_work_reports_a_lower_rate(make_simulated):
    make_machine(make_simulated())
    driver = make_simulated(scale=100)
    usual = driver.at(OTHER).receive(MACHINE, driver)
    driver.receive(MACHINE, driver.at(OTHER))
    driver.script("slow", call="receive", amount=10)
    slow = driver.at(OTHER).receive(MACHINE, driver)
    assert slow.rate == pytest.approx(usual.rate / 10, rel=0.01)
    assert slow.remaining == pytest.approx(usual.remaining * 10, rel=0.01)


def test_the_nth_call_and_the_given_number_after_it_fail(simulated):
    simulated.script("fail", call="power", nth=3, count=2)
    outcomes = []
    for _ in range(6):
        try:
            simulated.power(MACHINE)
            outcomes.append("ok")
        except DriverError:
            outcomes.append("failed")
    assert outcomes == ["ok", "ok", "failed", "failed", "ok", "ok"]
    assert simulated.faults()[0].hits == 6


def test_a_fault_affects_only_the_calls_that_it_names(simulated):
    simulated.script("fail", call="define", machine="skerry-1*", count=None)
    simulated.define(machine_spec("skerry-2"))
    with pytest.raises(DriverError):
        simulated.define(machine_spec("skerry-12"))
    assert set(simulated.all_machines()) == {"skerry-2"}


def test_special_characters_of_names_mean_themselves(simulated):
    simulated.script("fail", machine="a_b%c", count=None)
    simulated.define(machine_spec("axb-c"))
    with pytest.raises(DriverError):
        simulated.define(machine_spec("a_b%c"))


def test_a_crash_kills_the_caller_before_the_effect(simulated):
    simulated.script("crash", call="define")
    assert died_of(simulated, "define", machine_spec()) == -signal.SIGKILL
    assert simulated.all_machines() == {}
    assert died_of(simulated, "define", machine_spec()) == 0
    assert set(simulated.all_machines()) == {MACHINE}


def test_a_crash_after_kills_the_caller_with_the_effect_done(simulated):
    make_machine(simulated)
    simulated.script("crash_after", call="start")
    assert died_of(simulated, "start", MACHINE, boot_spec()) == -signal.SIGKILL
    assert simulated.power(MACHINE) is Power.ON
    assert simulated.start(MACHINE, boot_spec()).done
    assert simulated.booted(MACHINE)["boots"] == 1


def test_slow_work_takes_longer(make_simulated):
    driver = make_simulated(scale=1)
    driver.define(machine_spec())
    driver.script("slow", call="create_disk", amount=1000)
    driver.create_disk(MACHINE, image_disk())
    (fault,) = driver.faults()
    assert fault.amount == 1000
    assert _seconds_left(driver, DISK) > 5000


def test_a_guest_powers_itself_off_after_booting(simulated):
    make_machine(simulated)
    simulated.script("power_off", call="start", amount=0)
    assert simulated.start(MACHINE, boot_spec()).done
    assert simulated.power(MACHINE) is Power.OFF
    assert simulated.powered_off() == {MACHINE}
    assert simulated.start(MACHINE, boot_spec()).done
    assert simulated.power(MACHINE) is Power.ON


def test_a_guest_does_not_power_off_before_its_time(simulated):
    make_machine(simulated)
    simulated.script("power_off", call="start", amount=3600)
    simulated.start(MACHINE, boot_spec())
    assert simulated.power(MACHINE) is Power.ON


def test_a_guest_powers_itself_off_now(simulated):
    run_machine(simulated)
    simulated.power_off(MACHINE)
    assert simulated.powered_off() == {MACHINE}
    assert simulated.stop(MACHINE).done
    assert simulated.start(MACHINE, boot_spec()).done
    assert simulated.power(MACHINE) is Power.ON


def test_a_host_that_is_down_fails_every_call_for_its_machines(simulated):
    run_machine(simulated, "skerry-1")
    run_machine(simulated.at(OTHER), "skerry-2")
    simulated.script("unreachable", host=HOST, count=None)
    for call in (
        lambda: simulated.power("skerry-1"),
        lambda: simulated.disks("skerry-1"),
        lambda: simulated.stop("skerry-1"),
        lambda: simulated.undefine("skerry-1"),
        lambda: simulated.powered_off(),
        lambda: simulated.define(machine_spec("skerry-3")),
    ):
        with pytest.raises(Unreachable) as caught:
            call()
        assert caught.value.host == HOST
    assert simulated.stop("skerry-2").done
    assert simulated.at(OTHER).powered_off() == {"skerry-2"}
    simulated.clear_faults()
    assert simulated.power("skerry-1") is Power.ON


def test_where_no_host_answers_each_call_names_that_of_its_machine(simulated):
    run_machine(simulated.at(OTHER), "skerry-2")
    simulated.script("unreachable", count=None)
    with pytest.raises(Unreachable) as caught:
        simulated.stop("skerry-2")
    assert caught.value.host == "us-test-h2"
    with pytest.raises(Unreachable) as caught:
        simulated.volume_size(VOLUME)
    assert caught.value.host is None


def test_an_error_that_a_host_itself_returns_does_not_call_it_unreachable(simulated):
    simulated.script("fail", host=HOST, count=None)
    with pytest.raises(DriverError) as caught:
        simulated.powered_off()
    assert not isinstance(caught.value, Unreachable)


def test_a_hypervisor_that_nobody_can_connect_to_is_unreachable():
    nowhere = SimulatedDriver(f"host=127.0.0.1 port={free_port()} dbname=none")
    with pytest.raises(Unreachable) as caught:
        nowhere.powered_off()
    assert caught.value.host is None


def test_a_trace_counts_calls_by_machine(simulated):
    make_machine(simulated, "skerry-1")
    assert simulated.calls("skerry-1") == {}
    simulated.script("trace", count=None)
    run_machine(simulated, "skerry-2")
    assert simulated.calls("skerry-2") == {"define": 1, "create_disk": 1, "start": 1}
    simulated.clear_faults()
    assert simulated.calls("skerry-2") == {}


def test_a_script_that_means_nothing_is_rejected(simulated):
    for wrong in (
        {"action": "explode"},
        {"action": "fail", "call": "reboot"},
        {"action": "slow"},
        {"action": "power_off"},
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            simulated.script(**wrong)
    assert simulated.faults() == []


def _seconds_left(driver: SimulatedDriver, disk: str) -> float:
    (row,) = driver._session.execute(
        "SELECT extract(epoch FROM ready_at - now())::float8 AS seconds FROM simulated.disk WHERE name = %s",
        (disk,),
    )
    return row.seconds


@pytest.mark.parametrize(
    ("call", "asked"),
    [("power", [MACHINE]), ("usage", []), ("volume_size", [VOLUME]), ("archive_size", [ARCHIVE])],
)
def test_a_question_that_fails_does_not_answer_in_its_error(call, asked, simulated):
    """Customers may read the text of the error."""
    run_machine(simulated)
    make_volume(simulated)
    simulated.save_disk(MACHINE, DISK, ARCHIVE)
    assert getattr(simulated, call)(*asked)
    simulated.script("fail", call=call)

    with pytest.raises(DriverError, match=r"^The hypervisor failed\.$"):
        getattr(simulated, call)(*asked)
