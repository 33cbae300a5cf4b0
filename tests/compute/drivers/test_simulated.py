"""The simulated hypervisor: its secrets, its timing, and many concurrent users."""

import multiprocessing
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest

from compute.drivers.base import DiskSpec, DriverError, Ended, Power, Refused, Unreachable
from compute.drivers.simulated import SimulatedDriver
from compute.drivers.simulated.driver import POLL_SECONDS, disk_seconds
from compute.drivers.simulated.guest import fingerprint
from compute.drivers.simulated.session import FILES, PARTS, VERSION
from tests.compute.drivers.machines import (
    ARCHIVE,
    COPY,
    DISK,
    HOST,
    KEY,
    MACHINE,
    OTHER,
    PASSWORD,
    SWAP,
    VOLUME,
    boot_spec,
    finish,
    image_disk,
    machine_spec,
    make_machine,
    make_volume,
    run_machine,
    swap_disk,
    volume_spec,
    with_volumes,
)

pytestmark = pytest.mark.django_db

SLOW = 1000
"""A time scale at which the run time of the test itself does not matter."""


def warp(conninfo: str, seconds: float) -> None:
    """Let `seconds` of scale 1 pass at the scale `SLOW`, by moving all running work into the past."""
    by = timedelta(seconds=seconds * SLOW)
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(
            "UPDATE simulated.machine SET began_at = began_at - %(by)s, settles_at = settles_at - %(by)s,"
            " halts_at = halts_at - %(by)s",
            {"by": by},
        )
        connection.execute(
            "UPDATE simulated.disk SET began_at = began_at - %(by)s, ready_at = ready_at - %(by)s",
            {"by": by},
        )
        connection.execute(
            "UPDATE simulated.volume SET began_at = began_at - %(by)s, ready_at = ready_at - %(by)s,"
            " growing_at = growing_at - %(by)s, grown_at = grown_at - %(by)s",
            {"by": by},
        )


# --- Secrets ----------------------------------------------------------------------------------------------------


def test_the_password_and_the_keys_reach_the_guest(simulated):
    make_machine(simulated)
    assert simulated.lets_in(MACHINE, DISK, password=PASSWORD)
    assert not simulated.lets_in(MACHINE, DISK, password=PASSWORD + "!")
    assert simulated.lets_in(MACHINE, DISK, key=KEY)
    assert not simulated.lets_in(MACHINE, DISK, key=KEY.replace("AAAAI", "AAAAJ"))


def test_nothing_of_the_schema_holds_a_readable_secret(simulated, conninfo):
    simulated.script("trace", count=None)
    name, _ = run_machine(simulated)
    simulated.create_disk(name, swap_disk())
    with psycopg.connect(conninfo) as connection:
        tables = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'simulated'"
        ).fetchall()
        text = "".join(
            str(connection.execute(f"SELECT t::text FROM simulated.{table} t").fetchall()) for (table,) in tables
        )
    assert len(tables) == 7
    assert name in text
    assert PASSWORD not in text
    assert PASSWORD.encode().hex() not in text
    assert KEY.split()[1] not in text


def test_specs_do_not_show_secrets_when_printed():
    assert PASSWORD not in repr(image_disk())
    assert KEY not in repr(image_disk())


def test_one_password_gives_two_digests(simulated, conninfo):
    make_machine(simulated, "skerry-1")
    make_machine(simulated, "skerry-2")
    with psycopg.connect(conninfo) as connection:
        hashes = connection.execute("SELECT DISTINCT root_hash FROM simulated.disk").fetchall()
    assert len(hashes) == 2


def test_fingerprints_are_those_of_openssh():
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl github.com"
    assert fingerprint(key) == "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU"


def test_the_boot_is_remembered_as_asked(simulated):
    name, boot = run_machine(simulated)
    booted = simulated.booted(name)
    assert booted["ipv4"] == list(boot.ipv4)
    assert booted["devices"] == boot.devices
    assert booted["boots"] == 1


# --- Pace -------------------------------------------------------------------------------------------------------


def test_at_scale_zero_every_call_is_done_at_once(simulated):
    simulated.define(machine_spec())
    assert simulated.create_disk(MACHINE, image_disk()).done
    assert simulated.start(MACHINE, boot_spec()).done
    assert simulated.stop(MACHINE).done


def test_a_disk_of_an_image_takes_about_six_seconds_and_an_empty_one_about_one():
    assert disk_seconds(image_disk(size=25088)) == pytest.approx(6, abs=0.1)
    assert disk_seconds(image_disk(size=3_932_160)) == 20
    assert disk_seconds(swap_disk()) == 1


def test_work_shows_growing_progress_and_then_is_done(make_simulated, conninfo):
    driver = make_simulated(scale=SLOW)
    driver.define(machine_spec())
    seen = [driver.create_disk(MACHINE, image_disk())]
    for _ in range(6):
        warp(conninfo, 1)
        seen.append(driver.create_disk(MACHINE, image_disk()))
    percents = [each.percent for each in seen]
    assert percents == sorted(percents)
    assert percents[0] < 10
    assert 40 <= percents[3] <= 60
    assert [each.done for each in seen] == [False] * 6 + [True]
    assert all(0 < each.wait <= POLL_SECONDS for each in seen[:-1])


def test_a_half_made_disk_is_listed_but_not_booted_from(make_simulated, conninfo):
    driver = make_simulated(scale=SLOW)
    driver.define(machine_spec())
    driver.create_disk(MACHINE, image_disk())
    assert driver.disks(MACHINE) == {DISK}
    with pytest.raises(DriverError, match="not ready") as caught:
        driver.start(MACHINE, boot_spec())
    assert not isinstance(caught.value, Refused)
    warp(conninfo, 6)
    assert not driver.start(MACHINE, boot_spec()).done


def test_boot_and_shutdown_take_their_time_with_the_power_on(make_simulated, conninfo):
    make_machine(make_simulated(scale=0))
    driver = make_simulated(scale=SLOW)
    assert not driver.start(MACHINE, boot_spec()).done
    assert driver.power(MACHINE) is Power.ON
    warp(conninfo, 4)
    assert driver.start(MACHINE, boot_spec()).done
    assert not driver.stop(MACHINE).done
    assert driver.power(MACHINE) is Power.ON
    assert driver.powered_off() == frozenset()
    warp(conninfo, 3)
    assert driver.power(MACHINE) is Power.OFF
    assert driver.stop(MACHINE).done


def test_a_start_waits_for_a_shutdown_and_then_boots(make_simulated, conninfo):
    run_machine(make_simulated(scale=0))
    driver = make_simulated(scale=SLOW)
    driver.stop(MACHINE)
    assert driver.start(MACHINE, boot_spec()).percent == 0
    assert driver.booted(MACHINE)["boots"] == 1
    warp(conninfo, 3)
    driver.start(MACHINE, boot_spec())
    assert driver.booted(MACHINE)["boots"] == 2


def test_scale_multiplies(make_simulated, conninfo):
    driver = make_simulated(scale=10 * SLOW)
    driver.define(machine_spec())
    driver.create_disk(MACHINE, swap_disk())
    warp(conninfo, 5)
    assert driver.create_disk(MACHINE, swap_disk()).percent == pytest.approx(50, abs=5)


# --- Many at once -----------------------------------------------------------------------------------------------


def at_once(drivers: list[SimulatedDriver], call) -> list:
    """Return the result, or the DriverError, of the same call from every driver at the same moment."""
    barrier = threading.Barrier(len(drivers))

    def one(driver):
        barrier.wait()
        try:
            return call(driver)
        except DriverError as error:
            return error

    with ThreadPoolExecutor(len(drivers)) as pool:
        return list(pool.map(one, drivers))


@pytest.fixture
def crowd(make_simulated) -> list[SimulatedDriver]:
    drivers = [make_simulated() for _ in range(8)]
    for driver in drivers:
        driver.power(MACHINE)
    return drivers


def test_the_same_calls_at_once_have_one_effect(crowd):
    at_once(crowd, lambda driver: driver.define(machine_spec()))
    assert all(each.done for each in at_once(crowd, lambda driver: driver.create_disk(MACHINE, image_disk())))
    for boots in range(1, 6):
        assert all(each.done for each in at_once(crowd, lambda driver: driver.start(MACHINE, boot_spec())))
        assert crowd[0].booted(MACHINE)["boots"] == boots
        assert all(each.done for each in at_once(crowd, lambda driver: driver.stop(MACHINE)))
    at_once(crowd, lambda driver: driver.undefine(MACHINE))
    assert crowd[0].all_machines() == {}


def test_a_machine_is_never_on_without_its_disk(crowd):
    turns = iter(range(1000))
    for _ in range(10):
        make_machine(crowd[0])

        def start_or_delete(driver):
            if next(turns) % 2:
                return driver.start(MACHINE, boot_spec())
            return driver.delete_disk(MACHINE, DISK)

        at_once(crowd, start_or_delete)
        assert (crowd[0].power(MACHINE) is Power.ON) == bool(crowd[0].disks(MACHINE))
        crowd[0].undefine(MACHINE)


def test_disks_made_while_their_machine_goes_are_not_left_behind(crowd):
    for _ in range(10):
        crowd[0].define(machine_spec())
        kinds = {id(driver): number for number, driver in enumerate(crowd)}

        def make_or_remove(driver, kinds=kinds):
            if kinds[id(driver)] == 0:
                return driver.undefine(MACHINE)
            return driver.create_disk(MACHINE, swap_disk(f"disk-{kinds[id(driver)]}"))

        results = at_once(crowd, make_or_remove)
        assert crowd[0].all_machines() == {}
        assert all(isinstance(each, Refused) or each.done for each in results[1:])


def test_one_driver_serves_many_threads(simulated):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: make_machine(simulated, f"skerry-{number}"), range(40)))
    assert len(simulated.all_machines()) == 40


def test_a_first_use_by_many_makes_the_schema_once(make_simulated, conninfo):
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("DROP SCHEMA simulated CASCADE")
    drivers = [make_simulated() for _ in range(8)]
    assert at_once(drivers, lambda driver: driver.power(MACHINE)) == [Power.ABSENT] * 8


def test_a_new_version_of_the_schema_keeps_the_machines(make_simulated, conninfo):
    run_machine(make_simulated())
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("COMMENT ON SCHEMA simulated IS 'older'")
    assert make_simulated().power(MACHINE) is Power.ON
    with psycopg.connect(conninfo) as connection:
        assert connection.execute(
            "SELECT obj_description('simulated'::regnamespace, 'pg_namespace')"
        ).fetchone() == (VERSION,)


OLDER = """
CREATE OR REPLACE FUNCTION simulated.is_off(m simulated.machine, at timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE AS $$ SELECT m.power = 'off' $$;
CREATE FUNCTION simulated.stop(machine_name text) RETURNS simulated.answer
    LANGUAGE sql AS $$ SELECT simulated.simply('ok') $$;
CREATE FUNCTION simulated.teleport(m simulated.machine) RETURNS text LANGUAGE sql AS $$ SELECT m.host $$;
DROP FUNCTION simulated.receive;
ALTER TYPE simulated.answer ADD ATTRIBUTE bell text CASCADE;
ALTER TABLE simulated.machine DROP COLUMN was_on, DROP COLUMN plugged;
DROP TABLE simulated.volume CASCADE;
COMMENT ON SCHEMA simulated IS 'older';
"""
"""SQL that turns the schema into one of another version: functions and columns are different, added or missing."""
PARTS_OF_IT = {
    "functions": (
        "SELECT oid::regprocedure::text, pg_get_functiondef(oid) FROM pg_proc"
        " WHERE pronamespace = 'simulated'::regnamespace"
    ),
    "columns": (
        "SELECT a.attrelid::regclass::text, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,"
        " pg_get_expr(d.adbin, d.adrelid)"
        " FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
        " LEFT JOIN pg_attrdef d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)"
        " WHERE c.relnamespace = 'simulated'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped"
    ),
}


def test_an_upgraded_schema_is_as_a_fresh_one(make_simulated, conninfo):
    def schema() -> dict[str, list]:
        make_simulated().power(MACHINE)
        return {what: sorted(connection.execute(query).fetchall(), key=str) for what, query in PARTS_OF_IT.items()}

    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("DROP SCHEMA simulated CASCADE")
        fresh = schema()
        assert len(fresh["functions"]) > 30
        connection.execute(OLDER)
        upgraded = schema()
    assert upgraded == fresh


def test_all_files_of_the_schema_are_read():
    assert sorted(path.stem for path in FILES.glob("*.sql")) == sorted(PARTS)


# --- Processes and connections ----------------------------------------------------------------------------------


def test_a_forked_child_has_its_own_connection_and_leaves_the_parents_alone(simulated):
    simulated.define(machine_spec())
    child = multiprocessing.get_context("fork").Process(target=_define_and_close, args=(simulated,))
    child.start()
    child.join(120)
    assert child.exitcode == 0
    assert set(simulated.all_machines()) == {MACHINE, "skerry-child"}


def _define_and_close(driver: SimulatedDriver) -> None:
    driver.define(machine_spec("skerry-child"))
    driver.close()


class TimeIsUp(Exception):
    """A stand-in for the soft time limit of a task, which a signal raises at any point of the worker."""


def test_a_call_that_the_time_limit_cuts_short_leaves_a_driver_that_works(simulated, conninfo):
    make_machine(simulated)

    def ring(number, frame):
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with psycopg.connect(conninfo) as busy:
            busy.execute("SELECT FROM simulated.machine FOR UPDATE")
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            with pytest.raises(TimeIsUp):
                simulated.delete_disk(MACHINE, DISK)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert simulated.power(MACHINE) == Power.OFF


def test_a_lost_connection_is_made_again(simulated, conninfo):
    simulated.define(machine_spec())
    cut_connections(conninfo)
    assert simulated.power(MACHINE) is Power.OFF


def test_a_closed_driver_opens_again(simulated):
    simulated.define(machine_spec())
    simulated.close()
    assert simulated.power(MACHINE) is Power.OFF


def test_a_database_out_of_reach_is_a_driver_error():
    driver = SimulatedDriver("host=127.0.0.1 port=9 dbname=none")
    with pytest.raises(DriverError, match="cannot be reached") as caught:
        driver.power(MACHINE)
    assert not isinstance(caught.value, Refused)


def test_no_call_blocks_longer_than_the_timeout(make_simulated, conninfo):
    driver = make_simulated(timeout=0.8)
    make_simulated().define(machine_spec())
    with psycopg.connect(conninfo) as connection:
        connection.execute("SELECT FROM simulated.machine FOR UPDATE")
        with pytest.raises(DriverError):
            driver.stop(MACHINE)
    assert any(stopped(driver) for _ in range(100)), "it is as good as before"


def stopped(driver: SimulatedDriver) -> bool:
    """Tell whether the machine is off. A busy machine may not answer within so short a timeout."""
    try:
        return driver.stop(MACHINE).done
    except DriverError:
        return False


def cut_connections(conninfo: str) -> None:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name LIKE 'skerry-simulated%'"
        )


def test_copies_and_archives_keep_passwords_and_keys(simulated):
    make_machine(simulated)
    finish(lambda: simulated.save_disk(MACHINE, DISK, ARCHIVE))
    simulated.set_password(MACHINE, DISK, "Low-tide.at-seven-4")
    finish(lambda: simulated.create_disk(MACHINE, DiskSpec(COPY, 25088, "ext4", copy_of=(MACHINE, DISK))))
    finish(lambda: simulated.create_disk(MACHINE, DiskSpec(SWAP, 25088, "ext4", image=ARCHIVE)))
    assert simulated.lets_in(MACHINE, COPY, password="Low-tide.at-seven-4")
    assert simulated.lets_in(MACHINE, COPY, key=KEY)
    assert simulated.lets_in(MACHINE, SWAP, password=PASSWORD)
    assert not simulated.lets_in(MACHINE, SWAP, password="Low-tide.at-seven-4")


def test_a_script_is_remembered_by_its_digest(simulated):
    simulated.define(machine_spec())
    finish(lambda: simulated.create_disk(MACHINE, image_disk(script="#!/bin/sh\necho tide")))
    assert simulated.ran_script(MACHINE, DISK, "#!/bin/sh\necho tide")
    assert not simulated.ran_script(MACHINE, DISK, "#!/bin/sh")


def test_a_move_takes_time_tells_how_much_and_can_be_turned_back(make_simulated):
    driver = make_simulated(scale=SLOW)
    quick = make_simulated()
    make_machine(quick)
    quick.fill(MACHINE, DISK, 20000)
    progress = driver.at(OTHER).receive(MACHINE, driver)
    assert not progress.done
    assert progress.rate
    assert progress.remaining
    assert progress.remaining > 50 * SLOW
    assert driver.powered_off() == {MACHINE}, "it is known where it was until it has arrived"
    with pytest.raises(DriverError):
        driver.start(MACHINE, boot_spec(DISK))
    assert driver.receive(MACHINE, driver.at(OTHER)).done
    finish(lambda: quick.start(MACHINE, boot_spec(DISK)))


def test_a_disk_does_not_shrink_below_its_files(simulated):
    make_machine(simulated)
    simulated.fill(MACHINE, DISK, 20000)
    with pytest.raises(Refused, match="20000 MB"):
        simulated.resize_disk(MACHINE, DISK, 19999)
    assert simulated.resize_disk(MACHINE, DISK, 20000).done


# --- Volumes ----------------------------------------------------------------------------------------------------


def test_a_volume_takes_time_to_make_and_a_copy_more_the_more_is_on_it(make_simulated, conninfo):
    driver, quick = make_simulated(scale=SLOW), make_simulated()
    assert not driver.create_volume(volume_spec()).done
    with pytest.raises(DriverError, match="not ready"):
        driver.create_volume(volume_spec("skerry-volume-8", copy_of=VOLUME))
    name, _ = run_machine(quick)
    with pytest.raises(DriverError, match="not ready"):
        driver.plug(name, VOLUME, "data")
    warp(conninfo, 2)
    assert driver.create_volume(volume_spec()).done
    driver.fill_volume(VOLUME, 20000)
    copying = driver.create_volume(volume_spec("skerry-volume-8", copy_of=VOLUME))
    assert not copying.done
    assert copying.rate
    assert copying.remaining
    assert copying.remaining > 90 * SLOW


def test_a_volume_that_grows_can_be_booted_with_meanwhile(make_simulated, conninfo):
    driver, quick = make_simulated(scale=SLOW), make_simulated()
    make_volume(quick)
    name, boot = make_machine(quick)
    assert not driver.resize_volume(VOLUME, 30).done
    finish(lambda: quick.start(name, with_volumes(boot, sdb=VOLUME)))
    assert not driver.resize_volume(VOLUME, 30).done
    warp(conninfo, 3)
    assert driver.resize_volume(VOLUME, 30).done


def test_the_guest_finds_a_volume_by_the_label_it_had_when_it_was_plugged_in(simulated):
    name, boot = make_machine(simulated)
    make_volume(simulated)
    make_volume(simulated, "skerry-volume-8")
    finish(lambda: simulated.start(name, with_volumes(boot, sdb=VOLUME)))
    simulated.plug(name, "skerry-volume-8", "photos")
    assert simulated.plugged(name) == {VOLUME: "data", "skerry-volume-8": "photos"}
    finish(lambda: simulated.stop(name))
    assert simulated.plugged(name) == {}
    assert simulated.volumes() == {VOLUME: 20, "skerry-volume-8": 20}


def test_a_volume_goes_to_one_of_many_simultaneous_machines(make_simulated):
    drivers = [make_simulated() for _ in range(8)]
    make_volume(drivers[0])
    boots = dict(make_machine(drivers[0], f"skerry-{number}") for number in range(1, 9))
    gate = threading.Barrier(8)

    def boot(number: int) -> bool:
        name = f"skerry-{number + 1}"
        gate.wait()
        try:
            finish(lambda: drivers[number].start(name, with_volumes(boots[name], sdb=VOLUME)))
        except Refused:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(boot, range(8))) == 1
    assert sum(bool(drivers[0].plugged(name)) for name in boots) == 1


def test_a_machine_that_powered_itself_off_has_its_volumes_no_more(simulated):
    name, boot = make_machine(simulated)
    make_volume(simulated)
    finish(lambda: simulated.start(name, with_volumes(boot, sdb=VOLUME)))
    simulated.power_off(name)
    assert simulated.plugged(name) == {}
    simulated.delete_volume(VOLUME)
    assert simulated.volumes() == {}


# --- why machines are off -----------------------------------------------------------------------------------------


def test_a_simulated_machine_says_why_it_went_off(simulated):
    name, boot = run_machine(simulated)
    for fall, why in (
        (lambda: simulated.power_off(name), Ended.GUEST),
        (lambda: simulated.lose_power(name), Ended.HOST),
        (lambda: simulated.lose_power(name, Ended.KILLED), Ended.KILLED),
        (lambda: simulated.stop(name), Ended.ASKED),
    ):
        fall()
        (found,) = simulated.inventory().machines
        assert (found.power, found.ended) == (Power.OFF, why)
        finish(lambda: simulated.start(name, boot))
        assert simulated.inventory().machines[0].ended is None


def test_a_simulated_host_that_is_down_has_no_inventory(simulated):
    simulated.script("unreachable", host=HOST, count=None)
    with pytest.raises(Unreachable):
        simulated.inventory()
