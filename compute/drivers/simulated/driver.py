"""The simulated hypervisor: realistic, shared by all workers and all simulated hosts, with faults on demand."""

import json
import os
import signal
import zlib
from collections.abc import Sequence
from copy import copy
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, Self

import psycopg
from psycopg.types.json import Jsonb

from compute.drivers.base import (
    DONE,
    Address,
    BootSpec,
    Console,
    DiskSpec,
    Driver,
    DriverError,
    Ended,
    FirewallSpec,
    FoundMachine,
    HostReport,
    Inventory,
    MachineSpec,
    NoConsole,
    Options,
    Power,
    Progress,
    Refused,
    Unreachable,
    Usage,
    VolumeSpec,
)
from compute.drivers.firewalls import firewall_spec
from compute.drivers.simulated import load
from compute.drivers.simulated.faults import Action, Fault, like_pattern
from compute.drivers.simulated.guest import fingerprint, password_hash, password_matches
from compute.drivers.simulated.session import Session

START_SECONDS = 4.0
STOP_SECONDS = 3.0
EMPTY_DISK_SECONDS = 1.0
IMAGE_SECONDS = 4.0
IMAGE_SECONDS_PER_GB = 0.08
IMAGE_SECONDS_AT_MOST = 20.0
COPY_MB_A_SECOND = 200.0
RESIZE_MB_A_SECOND = 800.0
VOLUME_SECONDS = 2.0
VOLUME_GROWTH_SECONDS = 3.0
# MB of files on a new disk: without an image, and the range for disks with an image.
EMPTY_FILES = 8
LEAST_FILES, MAX_FILES = 700, 1200
# The maximum `Progress.wait` of a call in seconds, so that events show progress.
POLL_SECONDS = 1.0


class SimulatedDriver:
    """A `compute.drivers.base.Driver` whose machines are rows in the schema ``simulated``.

    `conninfo` names the PostgreSQL database with the machines of all simulated hosts. The schema is made on first
    use. `scale` multiplies the duration of work (0: done at once). `timeout` limits each call, in seconds. Times
    are from the database's clock, so that they are the same for all processes. Threads, and processes after a fork,
    can share a driver.

    `at` returns the driver of one host. Calls that concern no host can be made to any driver.
    """

    def __init__(self, conninfo: str, scale: float = 1.0, timeout: float = 20.0):
        self.scale = scale
        self.host = ""
        self._session = Session(conninfo, timeout)

    @classmethod
    def connect(cls, address: Address, options: Options) -> "SimulatedDriver":
        """Return the driver of a host for the platform's settings. All drivers share one connection."""
        return _configured(options).at(address)

    def at(self, address: Address) -> Self:
        """Return the driver of this host, on the same connection."""
        there = copy(self)
        there.host = address.name
        return there

    # --- The interface --------------------------------------------------------------------------------------

    def prepare(self) -> Progress:
        return DONE

    def inspect(self) -> HostReport:
        return HostReport(notes=("Its machines are simulated.",))

    def same_volumes(self, other: Driver) -> bool:
        return isinstance(other, SimulatedDriver)

    def define(self, spec: MachineSpec) -> None:
        self._call(
            "SELECT * FROM simulated.define(%s, %s, %s, %s, %s)",
            (spec.name, self.host, spec.memory, spec.vcpus, spec.mac),
        )

    def undefine(self, machine: str) -> None:
        self._call("SELECT * FROM simulated.undefine(%s)", (machine,))

    def create_disk(self, machine: str, disk: DiskSpec, source: Driver | None = None) -> Progress:
        self._require_own_kind(source)
        copied = disk.copy_of or (None, None)
        archive = disk.image if is_archive(disk.image) else None
        per_mb = self._per_mb(COPY_MB_A_SECOND) if archive or disk.copy_of else 0.0
        answer = self._call(
            "SELECT * FROM simulated.create_disk("
            "(%s, %s, %s, %s, %s, %s, %s, now(), now(), %s, %s)::simulated.disk, %s, %s, %s, %s, %s)",
            (
                machine,
                disk.name,
                disk.size,
                disk.filesystem,
                disk.image,
                password_hash(disk.root_password) if disk.image and disk.root_password else None,
                [fingerprint(key) for key in disk.authorized_keys] if disk.image else [],
                first_files(disk),
                password_hash(disk.script) if disk.script else None,
                archive,
                *copied,
                disk_seconds(disk) * self.scale,
                per_mb,
            ),
        )
        return _progress(answer)

    def resize_disk(self, machine: str, disk: str, size: int) -> Progress:
        answer = self._call(
            "SELECT * FROM simulated.resize_disk(%s, %s, %s, %s)",
            (machine, disk, size, self._per_mb(RESIZE_MB_A_SECOND)),
        )
        return _progress(answer)

    def set_password(self, machine: str, disk: str, password: str) -> None:
        hashed = password_hash(password)
        self._call("SELECT * FROM simulated.set_password(%s, %s, %s)", (machine, disk, hashed))

    def delete_disk(self, machine: str, disk: str) -> None:
        self._call("SELECT * FROM simulated.delete_disk(%s, %s)", (machine, disk))

    def disks(self, machine: str) -> frozenset[str]:
        return frozenset(self._call("SELECT * FROM simulated.disks(%s)", (machine,)).names)

    def start(self, machine: str, boot: BootSpec) -> Progress:
        named = set(boot.devices.values())
        disks, volumes = sorted(named - boot.volumes.keys()), sorted(named & boot.volumes.keys())
        answer = self._call(
            "SELECT * FROM simulated.start(%s, %s, %s, %s, %s)",
            (machine, disks, volumes, Jsonb(_boot(boot)), START_SECONDS * self.scale),
        )
        return _progress(answer)

    def stop(self, machine: str) -> Progress:
        return _progress(self._call("SELECT * FROM simulated.stop(%s, %s)", (machine, STOP_SECONDS * self.scale)))

    def set_firewall(self, machine: str, firewall: FirewallSpec) -> int:
        row = self._call("SELECT * FROM simulated.set_firewall(%s, %s, %s)", (machine, *_kept(firewall)))
        return int(row.detail)

    def power(self, machine: str) -> Power:
        return Power(self._call("SELECT * FROM simulated.power(%s)", (machine,)).detail)

    def powered_off(self) -> frozenset[str]:
        return frozenset(self._call("SELECT * FROM simulated.powered_off(%s)", (self.host,)).names)

    def usage(self) -> list[Usage]:
        machines = self._call("SELECT * FROM simulated.usage(%s)", (self.host,)).detail
        return [load.used(*machine) for machine in json.loads(machines or "[]")]

    def set_peers(self, underlay: str, peers: Sequence[str], customers: Sequence[str] = ()) -> None:
        """Do nothing: simulated machines send no packets."""

    def inventory(self) -> Inventory:
        found = json.loads(self._call("SELECT * FROM simulated.inventory(%s)", (self.host,)).detail)
        machines = tuple(_found(*each) for each in found["machines"] or ())
        return Inventory(machines, frozenset(found["volumes"]), (), frozenset(found["aside"]))

    def set_aside(self, machine: str, disk: str | None = None) -> None:
        self._call("SELECT * FROM simulated.set_aside(%s, %s, %s)", (machine, self.host, disk))

    def set_volume_aside(self, volume: str) -> None:
        self._call("SELECT * FROM simulated.set_volume_aside(%s)", (volume,))

    def discard(self, name: str) -> None:
        self._call("SELECT * FROM simulated.discard(%s, %s)", (name, self.host))

    def console(self, machine: str) -> Console:
        power = self.power(machine)
        if power is not Power.ON:
            raise Refused("The machine does not exist." if power is Power.ABSENT else "The machine is off.")
        raise NoConsole("This machine is simulated: it has no console.")

    def ssh_port(self, machine: str) -> int | None:
        return None

    def receive(self, machine: str, source: Driver) -> Progress:
        self._require_own_kind(source)
        per_mb = self._per_mb(COPY_MB_A_SECOND)
        answer = self._call("SELECT * FROM simulated.receive(%s, %s, %s)", (machine, self.host, per_mb))
        return _progress(answer)

    def _require_own_kind(self, source: Driver | None) -> None:
        if source is not None and not isinstance(source, SimulatedDriver):
            raise Refused("A simulated host cannot receive machines from a real host.")

    def save_disk(self, machine: str, disk: str, archive: str) -> Progress:
        answer = self._call(
            "SELECT * FROM simulated.save_disk(%s, %s, %s, %s, %s)",
            (machine, disk, archive, EMPTY_DISK_SECONDS * self.scale, self._per_mb(COPY_MB_A_SECOND)),
        )
        return _progress(answer)

    def archive_upload(self, archive: str, path: str, size: int) -> Progress:
        answer = self._call(
            "SELECT * FROM simulated.archive_upload(%s, %s, %s)",
            (archive, size if Path(path).is_file() else None, IMAGE_SECONDS * self.scale),
        )
        return _progress(answer)

    def create_volume(self, volume: VolumeSpec) -> Progress:
        answer = self._call(
            "SELECT * FROM simulated.create_volume(%s, %s, %s, %s, %s, %s, %s)",
            (
                volume.name,
                volume.region,
                volume.size,
                volume.hardware,
                volume.copy_of,
                VOLUME_SECONDS * self.scale,
                self._per_mb(COPY_MB_A_SECOND),
            ),
        )
        return _progress(answer)

    def resize_volume(self, volume: str, size: int) -> Progress:
        seconds = VOLUME_GROWTH_SECONDS * self.scale
        return _progress(self._call("SELECT * FROM simulated.resize_volume(%s, %s, %s)", (volume, size, seconds)))

    def volume_size(self, volume: str) -> int | None:
        found = self._call("SELECT * FROM simulated.volume_size(%s)", (volume,)).detail
        return None if found is None else int(found)

    def delete_volume(self, volume: str) -> None:
        self._call("SELECT * FROM simulated.delete_volume(%s)", (volume,))

    def plug(self, machine: str, volume: str, label: str) -> None:
        self._call("SELECT * FROM simulated.plug(%s, %s, %s)", (machine, volume, label))

    def unplug(self, machine: str, volume: str) -> None:
        self._call("SELECT * FROM simulated.unplug(%s, %s)", (machine, volume))

    def archive_size(self, archive: str) -> int | None:
        found = self._call("SELECT * FROM simulated.archive_size(%s)", (archive,)).detail
        return None if found is None else int(found)

    def check_system(self, archive: str) -> None:
        """Do nothing: the simulation does not know the content of archives."""

    def delete_archive(self, archive: str) -> None:
        self._call("SELECT * FROM simulated.delete_archive(%s)", (archive,))

    def _per_mb(self, rate: float) -> float:
        """The scaled seconds that a MB takes at `rate` MB a second."""
        return self.scale / rate

    def close(self) -> None:
        """Close the database connection. The next call opens another."""
        self._session.close()

    # --- Only in the simulation: faults, and inspection ------------------------------------------------------

    def script(
        self,
        action: Action | str,
        *,
        call: str | None = None,
        machine: str | None = None,
        host: str | None = None,
        nth: int = 1,
        count: int | None = 1,
        amount: float | None = None,
    ) -> int:
        """Add a fault and return its id; see `Fault`.

        `call` is a method's name, and `machine` a name in which ``*`` stands for any text. Use
        ``script("unreachable", host=..., count=None)`` for a host that is down. Raises ValueError for an unknown
        action or call, or a missing amount.
        """
        action = Action(action)
        if action in (Action.SLOW, Action.POWER_OFF) and amount is None:
            raise ValueError(f"{action} needs an amount")
        if call is not None and call not in CALLS:
            raise ValueError(f"{call} is not a call of a driver")
        (row,) = self._session.execute(
            "INSERT INTO simulated.fault (action, call, machine, host, nth, count, amount)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id",
            (action.value, call, like_pattern(machine), host, nth, count, amount),
        )
        return row.id

    def faults(self) -> list[Fault]:
        """The scripted faults with their hits, including faults that no longer act."""
        rows = self._session.execute("SELECT * FROM simulated.fault ORDER BY id")
        return [Fault(**{**row._asdict(), "action": Action(row.action)}) for row in rows]

    def calls(self, machine: str) -> dict[str, int]:
        """The number of each call for a machine while a fault `trace` was scripted."""
        rows = self._session.execute("SELECT call, count FROM simulated.call WHERE machine = %s", (machine,))
        return {row.call: row.count for row in rows}

    def clear_faults(self) -> None:
        """Delete all faults and counted calls. Their effects on machines stay."""
        self._session.execute("WITH gone AS (DELETE FROM simulated.fault) DELETE FROM simulated.call")

    def power_off(self, machine: str) -> None:
        """Simulate that the guest powers itself off now, like the command `poweroff`."""
        self._session.execute(
            "UPDATE simulated.machine SET halts_at = clock_timestamp() WHERE name = %s AND power = 'on'",
            (machine,),
        )

    def lose_power(self, machine: str, why: Ended = Ended.HOST) -> None:
        """Power a machine off at once, as if its host lost power or its process was killed."""
        self._session.execute(
            "UPDATE simulated.machine SET power = 'off', settles_at = clock_timestamp(), halts_at = NULL, fell = %s"
            " WHERE name = %s AND power = 'on'",
            (str(why), machine),
        )

    def all_machines(self) -> dict[str, frozenset[str]]:
        """All machines of all hosts with their disks. Tests check that this is empty when nothing has leaked."""
        rows = self._session.execute(
            "SELECT m.name, array_remove(array_agg(d.name), NULL) AS disks"
            " FROM simulated.machine m LEFT JOIN simulated.disk d ON d.machine = m.name GROUP BY m.name"
        )
        return {row.name: frozenset(row.disks) for row in rows}

    def archives(self) -> frozenset[str]:
        """The names of all archives, including incomplete ones."""
        return frozenset(row.name for row in self._session.execute("SELECT name FROM simulated.archive"))

    def volumes(self) -> dict[str, int]:
        """The names of all volumes, including incomplete ones, with their sizes in GB."""
        return {row.name: row.size for row in self._session.execute("SELECT name, size FROM simulated.volume")}

    def plugged(self, machine: str) -> dict[str, str]:
        """The volumes of a machine that is on, each with the label by which the guest finds the volume."""
        rows = self._session.execute(
            "SELECT plugged FROM simulated.machine m"
            " WHERE name = %s AND NOT simulated.is_off(m, clock_timestamp())",
            (machine,),
        )
        return rows[0].plugged if rows else {}

    def fill_volume(self, volume: str, used: int) -> None:
        """Set the MB of files on a volume, as if a guest wrote them."""
        self._session.execute("UPDATE simulated.volume SET used = %s WHERE name = %s", (used, volume))

    def fill(self, machine: str, disk: str, used: int) -> None:
        """Set the MB of files on a disk, as if a guest wrote them."""
        self._session.execute(
            "UPDATE simulated.disk SET used = %s WHERE machine = %s AND name = %s", (used, machine, disk)
        )

    def ran_script(self, machine: str, disk: str, script: str) -> bool:
        """Tell whether this script was installed on a disk for the first boot."""
        rows = self._session.execute(
            "SELECT script_digest FROM simulated.disk WHERE machine = %s AND name = %s", (machine, disk)
        )
        return bool(rows and rows[0].script_digest and password_matches(script, rows[0].script_digest))

    def booted(self, machine: str) -> dict[str, Any] | None:
        """The machine's last `BootSpec` as a dict, with `boots`, the number of its boots; None before the first."""
        rows = self._session.execute("SELECT boot, boots FROM simulated.machine WHERE name = %s", (machine,))
        return {**rows[0].boot, "boots": rows[0].boots} if rows and rows[0].boot else None

    def firewall(self, machine: str) -> FirewallSpec | None:
        """The packet filter of a machine; None if none was ever set, or there is no such machine."""
        rows = self._session.execute(
            "SELECT firewall FROM simulated.machine WHERE name = %s AND firewall_version > 0", (machine,)
        )
        return firewall_spec(json.loads(rows[0].firewall)) if rows else None

    def lets_in(self, machine: str, disk: str, *, password: str | None = None, key: str | None = None) -> bool:
        """Tell whether root can log in to the system on a disk with this password, or this public key."""
        rows = self._session.execute(
            "SELECT root_hash, fingerprints FROM simulated.disk WHERE machine = %s AND name = %s",
            (machine, disk),
        )
        if not rows:
            return False
        if key is not None:
            return fingerprint(key) in rows[0].fingerprints
        return bool(password and rows[0].root_hash and password_matches(password, rows[0].root_hash))

    def forget_all(self) -> None:
        """Delete all machines, disks, archives, volumes, set-aside entries and faults."""
        self.clear_faults()
        self._session.execute(
            "WITH gone AS (DELETE FROM simulated.archive), drained AS (DELETE FROM simulated.volume),"
            " cleared AS (DELETE FROM simulated.aside)"
            " DELETE FROM simulated.machine"
        )

    def _call(self, query: str, params: tuple) -> Any:
        """Run one call. Return the row of type `simulated.answer`, or raise the row's error, or crash."""
        try:
            (answer,) = self._session.execute(query, params)
        except psycopg.Error as error:
            lost = error.sqlstate is None  # no server answered, as opposed to one that reports an error
            raise (Unreachable if lost else DriverError)("The hypervisor cannot be reached.") from error
        if answer.outcome == "fail":
            raise DriverError(answer.detail or "The hypervisor failed.")
        if answer.outcome == Action.UNREACHABLE:
            raise Unreachable("The host does not answer.", answer.detail)
        if answer.outcome == "refuse":
            raise Refused(answer.detail or "The hypervisor refused.")
        if answer.outcome in (Action.CRASH, Action.CRASH_AFTER):
            die()
        return answer


@cache
def _configured(options: Options) -> SimulatedDriver:
    return SimulatedDriver(options.conninfo, options.scale, options.timeout)


CALLS = frozenset({
    "define", "undefine", "create_disk", "resize_disk", "set_password", "delete_disk", "disks", "start", "stop",
    "power", "powered_off", "usage", "receive", "save_disk", "archive_upload", "archive_size", "delete_archive",
    "create_volume", "resize_volume", "volume_size", "delete_volume", "plug", "unplug", "set_firewall",
    "inventory", "set_aside", "set_volume_aside", "discard",
})  # fmt: skip


def die() -> NoReturn:
    """End this process like the kernel's out-of-memory killer: without handlers and without cleanup."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("SIGKILL did not kill")


def _found(
    name: str, power: str, disks: list[str], plugged: dict[str, str], memory: int, vcpus: int, ended: str | None
) -> FoundMachine:
    why = None if ended is None else Ended(ended)
    return FoundMachine(name, Power(power), frozenset(disks), frozenset(plugged), memory, vcpus, why)


def is_archive(image: str | None) -> bool:
    """Tell whether a disk's image is an archive. Ids of official images contain a slash."""
    return image is not None and "/" not in image


def disk_seconds(disk: DiskSpec) -> float:
    """The seconds for making a disk, without copying. They depend on the size if it has an official image."""
    if disk.image is None or is_archive(disk.image):
        return EMPTY_DISK_SECONDS
    return min(IMAGE_SECONDS + disk.size / 1024 * IMAGE_SECONDS_PER_GB, IMAGE_SECONDS_AT_MOST)


def first_files(disk: DiskSpec) -> int:
    """The MB of files on a new disk, which are few without an official image."""
    if disk.image is None or is_archive(disk.image):
        return 0 if disk.filesystem in ("swap", "raw") else min(disk.size, EMPTY_FILES)
    return min(disk.size, LEAST_FILES + zlib.crc32(disk.image.encode()) % (MAX_FILES - LEAST_FILES))


def _kept(firewall: FirewallSpec) -> tuple[int, str]:
    """A packet filter in the form of the schema: its version, and a text, which is JSON."""
    return firewall.version, json.dumps(asdict(firewall))


def _boot(boot: BootSpec) -> dict[str, Any]:
    """A boot in the form of the schema. Workers of the previous release use the same SQL functions."""
    kept = None if boot.firewall is None else dict(zip(("version", "ruleset"), _kept(boot.firewall), strict=True))
    return {**asdict(boot), "firewall": kept}


def _progress(answer: Any) -> Progress:
    wait = min(answer.wait, POLL_SECONDS)
    if answer.rate is None or answer.percent >= 100:
        return Progress(answer.percent, wait)
    return Progress(answer.percent, wait, answer.rate, answer.wait)
