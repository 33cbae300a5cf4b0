"""Hosts that do not answer: each is recorded and logged once, by any process, and used again when it answers."""

import logging
import threading
from datetime import timedelta
from typing import NoReturn

import pytest
from django.db import connection

from compute.drivers.base import DriverError, Unreachable
from compute.models import Host, PacketFilter
from compute.services.hosts import reachability
from compute.services.instances import power
from compute.worker import engine, sampling
from compute.worker.networking import packet_filters
from tests.compute.memory_driver import MemoryDriver, failing_at
from tests.compute.run_jobs import clock
from tests.compute.watching import watch
from tests.compute.worker.scenarios import deployed

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)
LOGGERS = ("compute.services.hosts.reachability", "compute.worker")


@pytest.fixture
def host(world) -> Host:
    return Host.objects.get(region=world.region)


@pytest.fixture
def instance(world, driver: MemoryDriver):
    return deployed(world, driver)


@pytest.fixture
def logged(caplog):
    """Return the log lines about hosts and jobs, with their levels."""
    caplog.set_level(logging.DEBUG, logger="compute")

    def logged(level: int = logging.INFO) -> list[str]:
        lines = [record for record in caplog.records if record.name.startswith(LOGGERS) and record.levelno >= level]
        return [f"{record.levelname} {record.getMessage()}" for record in lines]

    return logged


def silence(driver: MemoryDriver, host: Host | None) -> None:
    """Answer no call from now on."""

    def fail(*args: object) -> NoReturn:
        raise Unreachable("The host does not answer.", None if host is None else str(host.uuid))

    driver.before = fail
    driver.powered_off = driver.usage = driver.power = fail  # type: ignore[method-assign]


def speak(driver: MemoryDriver) -> None:
    driver.before = lambda number, name: None
    del driver.powered_off, driver.usage, driver.power  # restores the methods of the class


def test_a_host_that_falls_silent_is_recorded_and_logged_once_by_its_label(host, driver, logged):
    silence(driver, host)
    began = clock()
    for _ in range(5):
        watch(driver)
    sampling.sample(driver)
    host.refresh_from_db()
    assert began <= host.unreachable_since <= clock()
    assert host.unreachable_error == "The host does not answer."
    assert logged() == [f"WARNING host {host.label} does not answer: The host does not answer."]


def test_it_is_taken_back_and_logged_once_when_it_answers(host, driver, logged):
    silence(driver, host)
    watch(driver)
    speak(driver)
    for _ in range(3):
        watch(driver)
    host.refresh_from_db()
    assert (host.unreachable_since, host.unreachable_error) == (None, "")
    assert host.reachable_since is not None
    assert logged()[1:] == [f"WARNING host {host.label} answers again, after 0:00:00"]


@pytest.mark.parametrize("named", [True, False], ids=["the driver names it", "the instance's"])
def test_a_job_that_finds_out_records_the_host_and_says_no_more_of_it(named, world, host, driver, instance, logged):
    job = power.reboot(world.actor, instance)
    silence(driver, host if named else None)
    engine.run(job.pk, driver)
    host.refresh_from_db()
    assert host.unreachable_since is not None
    assert logged() == [f"WARNING host {host.label} does not answer: The host does not answer."]
    name = f"job {job.pk} (reboot) of {instance.label} ({instance.pk})"
    waits = f"DEBUG {name} waits at stop until host {host.label} answers: The host does not answer."
    assert waits in logged(logging.DEBUG)


def test_an_error_that_a_host_returns_is_logged_with_the_job_and_leaves_the_host_alone(
    world, host, driver, instance, logged
):
    job = power.reboot(world.actor, instance)
    driver.before = failing_at(len(driver.calls), DriverError("No."))
    engine.run(job.pk, driver)
    host.refresh_from_db()
    assert host.unreachable_since is None
    name = f"job {job.pk} (reboot) of {instance.label} ({instance.pk})"
    assert logged() == [f"WARNING {name} failed at stop, attempt 1: No."]


def test_a_host_answers_again_when_it_returns_an_error_to_the_watchdog(host, driver, logged):
    silence(driver, host)
    watch(driver)
    speak(driver)

    def fail() -> NoReturn:
        raise DriverError("Not now.")

    driver.powered_off = fail
    watch(driver)
    host.refresh_from_db()
    assert host.unreachable_since is None
    _, refusal, answer = logged(logging.WARNING)
    assert refusal == f"WARNING host {host.label} could not report the machines that are off: Not now."
    assert answer.startswith(f"WARNING host {host.label} answers again, after ")


def test_a_host_that_nobody_knows_is_no_reason_to_say_nothing(world, host, driver, instance, logged):
    job = power.reboot(world.actor, instance)
    driver.before = failing_at(len(driver.calls), Unreachable("No.", "rack-7"))
    engine.run(job.pk, driver)
    host.refresh_from_db()
    assert host.unreachable_since is None
    assert logged() == [
        f"WARNING job {job.pk} (reboot) of {instance.label} ({instance.pk}) failed at stop, attempt 1: No."
    ]


def test_a_firewall_that_finds_out_records_the_host(host, driver, instance, logged):
    PacketFilter.objects.filter(instance=instance).update(wanted=2)
    silence(driver, None)
    packet_filters.apply(instance.pk, driver)
    host.refresh_from_db()
    assert host.unreachable_since is not None
    assert logged() == [f"WARNING host {host.label} does not answer: The host does not answer."]


def test_a_host_out_of_service_is_watched_as_well(host, driver):
    Host.objects.update(enabled=False)
    silence(driver, host)
    watch(driver)
    host.refresh_from_db()
    assert host.unreachable_since is not None


def test_in_maintenance_it_is_no_warning(host, driver, logged):
    Host.objects.update(maintenance=clock())
    silence(driver, host)
    watch(driver)
    speak(driver)
    watch(driver)
    assert [line.split()[0] for line in logged()] == ["INFO", "INFO"]


@pytest.mark.parametrize("name", ["9da0f136-59df-4d37-b600-8fb7679d392b", "no uuid at all"])
def test_a_host_that_was_deleted_is_no_news(name, db):
    assert not reachability.record_unreachable(name, "Silence.", clock())
    assert not reachability.record_reachable(name, clock())


def test_a_new_error_is_kept_but_no_news(host):
    assert reachability.record_unreachable(str(host.uuid), "Silence.", clock())
    host.refresh_from_db()
    since = host.unreachable_since
    assert not reachability.record_unreachable(str(host.uuid), "No route to host.", clock())
    host.refresh_from_db()
    assert (host.unreachable_since, host.unreachable_error) == (since, "No route to host.")


def test_a_call_that_hung_since_before_the_host_answered_takes_nothing_back(host):
    asked = clock()
    reachability.record_unreachable(str(host.uuid), "Silence.", asked)
    assert reachability.record_reachable(str(host.uuid), clock())
    assert not reachability.record_unreachable(str(host.uuid), "Silence.", asked)
    host.refresh_from_db()
    assert host.unreachable_since is None
    assert reachability.record_unreachable(str(host.uuid), "Silence.", clock()), "it fell silent anew"


def test_an_answer_from_before_it_fell_silent_is_none(host):
    reachability.record_unreachable(str(host.uuid), "Silence.", clock())
    host.refresh_from_db()
    assert not reachability.record_reachable(str(host.uuid), host.unreachable_since - SECOND)


@pytest.mark.django_db(transaction=True)
def test_one_of_many_simultaneous_workers_logs_the_silence(host):
    news: list[bool] = []
    ready = threading.Barrier(6)
    asked = clock()

    def find_out(record) -> None:
        try:
            ready.wait()
            news.append(record())
        finally:
            connection.close()

    def race(record) -> list[bool]:
        news.clear()
        threads = [threading.Thread(target=find_out, args=(record,)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sorted(news)

    assert race(lambda: reachability.record_unreachable(str(host.uuid), "Silence.", asked)) == [False] * 5 + [True]
    assert race(lambda: reachability.record_reachable(str(host.uuid), clock())) == [False] * 5 + [True]
