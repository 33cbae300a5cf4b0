"""Accepted values of the arguments of a host's verbs. All others are refused."""

import copy
import json
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import Any

import pytest

from compute.drivers.base import BootSpec, FirewallRule, FirewallRules, FirewallSpec
from compute.drivers.qemu.agent import commands, records
from compute.drivers.qemu.agent.checks import OTHER_RELEASE
from compute.drivers.qemu.agent.disks.machine_disks import NewDisk
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.networks import firewalls
from compute.drivers.qemu.agent.serving import agent_program, arguments
from compute.drivers.qemu.agent.serving.calls import PROTOCOL, VERBS, call
from compute.drivers.qemu.agent.store import Store
from tests.compute.drivers.machines import DISK, KEY, MACHINE, VOLUME

ROOT_HASH = "$6$saltsaltsaltsalt$" + "a" * 86
RULE = FirewallRule("accept", "tcp", ((22, 22),), ("198.51.100.0/24",), ("2001:db8::/32",), "ssh")
FIREWALL = FirewallSpec(3, FirewallRules((RULE,), (RULE,), "drop", "accept"), (25, 465))
BOOT = BootSpec(
    kernel="compute/grub2", root_device="/dev/sda", run_level="default", virt_mode="paravirt", memory=1024,
    devices={"sda": DISK, "sdb": VOLUME}, volumes={VOLUME: "data_1"}, ipv4=("198.18.0.7",), ipv6="2001:db8::7",
    helpers={"network": True}, ranges=("2001:db8:9::/64",), resolvers=("198.18.0.1", "2001:db8::1"),
    interfaces=(
        {"purpose": "public"}, {"purpose": "vlan", "label": "v", "ipam_address": "10.0.0.7/24", "number": 5},
    ),
    network_out=1000, firewall=FIREWALL,
)  # fmt: skip
DESCRIPTION = {"name": MACHINE, "memory": 1024, "vcpus": 1, "mac": "f2:3c:00:00:00:07"}
LEFT = {"description": DESCRIPTION, "firewall": asdict(FIREWALL), "disks": {DISK: [1, 2, 3]}}
CHUNK = {"version": "1-2-3", "size": 10, "start": 0, "next": 10, "pieces": [[0, "AAAA"]]}
ANY: dict[str, Any] = {
    "machine": MACHINE, "disk": DISK, "volume": VOLUME, "archive": "skerry-image-7", "image": "compute/debian12",
    "file": "/root/image.qcow2", "os_name": "Debian", "accel": "auto", "again": False, "memory": 1024, "vcpus": 1,
    "mac": "f2:3c:00:00:00:07", "boot": asdict(BOOT), "name": "aside/skerry-7", "firewall": asdict(FIREWALL),
    "underlay": "10.0.0.1", "peers": ["10.0.0.2"], "customers": ["198.51.100.0/24", "2001:db8::/32"], "size": 10,
    "filesystem": "ext4", "copy_of": [MACHINE, DISK], "hostname": "web-1", "root_hash": ROOT_HASH,
    "authorized_keys": [KEY], "script": "#!/bin/sh\n", "label": "data_1", "mark": "ab" * 16,
    "place": ["disk", MACHINE, DISK], "start": 0, "most": 10, "chunk": CHUNK, "left": LEFT,
}  # fmt: skip
"""A value for each argument, as the platform sends it."""
CONTENTS = {"script", "os_name"}
"""Arguments that are contents of files, and input of no program."""
RULE_LABELS = {("boot", "firewall", "rules", way, 0, "label") for way in ("inbound", "outbound")}
IGNORED = {*RULE_LABELS, ("chunk", "pieces", 0, 1), ("boot", "virt_mode"), ("boot", "interfaces", 1, "label")}
"""Values that are contents too, or that no host uses. Labels become comments: test_packet_filters.py."""
HOSTILE = (
    "flush ruleset", 'include "/etc/shadow"', "a\nflush ruleset", 'x"', "a,b=c", "../../etc/shadow", "..", "a\0b",
    "x" * 100_000, "fe80::1%eth0,hostfwd=tcp::22-:22", "fe80::1%\n", "-o", "$(reboot)", "skerry-7 {", "a;b", "",
    "/dev/sda\nrw", "skerry-7\n", "sda,id=x", "é", None, 7.5, [], {}, True, -1, 1 << 80,
)  # fmt: skip


def values_of(verb: str) -> dict[str, Any]:
    """Return values for all arguments of a verb, as decoded from JSON."""
    values = {name: ANY[name] for name in arguments.ARGUMENTS[verb]}
    if verb == "create_volume":
        values["copy_of"] = VOLUME
    return json.loads(json.dumps(values))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of the plain values in a value."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from leaves(each, (*path, name))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from leaves(each, (*path, number))
    else:
        yield path


def replaced(values: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    found = copy.deepcopy(values)
    inner = found
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return found


def at(values: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        values = values[step]
    return values


def passed(check: Any) -> Any:
    """Return the value that a check accepts, or the error that it raises."""
    try:
        return check()
    except (Refused, Failed) as error:
        return error


@pytest.mark.parametrize("verb", VERBS)
def test_every_argument_of_every_verb_has_a_check_and_passes_it(verb):
    assert sorted(arguments.parameters(VERBS[verb])) == sorted(arguments.ARGUMENTS[verb])
    values = values_of(verb)
    found = arguments.checked(verb, VERBS[verb], values)
    if "boot" in found:
        for each in (values["boot"], found["boot"]):
            each.pop("virt_mode", None)
    assert found == values


@pytest.mark.parametrize("verb", VERBS)
def test_nothing_hostile_passes_any_argument(verb):
    """An accepted value has the type of the platform's value, and is harmless.

    Such a value is a plain word, or an address or number of the required kind.
    """
    values = values_of(verb)
    for path in leaves(values):
        if path[0] in CONTENTS or path in IGNORED or (path[-1] == "label" and path[0] in ("firewall", "left")):
            continue
        wanted = at(values, path)
        for hostile in HOSTILE:
            found = passed(lambda path=path, hostile=hostile: arguments.checked(
                verb, VERBS[verb], replaced(values, path, hostile)
            ))  # fmt: skip
            if isinstance(found, Exception):
                assert "flush" not in str(found)
                assert len(str(found)) < 200
                continue
            got = at(found, path)
            assert got is None or got == "" or type(got) is type(wanted), (path, hostile)
            if isinstance(got, str) and path[0] != "authorized_keys":
                assert all(letter.isascii() and letter.isprintable() for letter in got), (path, hostile)
                assert path[0] in ("file", "name") or not set(got) & set("\n\"',;{}$% "), (path, hostile)
                assert len(got) < 5000
            if isinstance(got, int) and not isinstance(wanted, bool):
                assert 0 <= got < 1 << 64


def test_missing_arguments_get_the_defaults_of_the_dataclass():
    given = {"machine": MACHINE, "disk": DISK, "size": 10, "filesystem": "ext4"}
    found = arguments.checked("create_disk", VERBS["create_disk"], given)
    assert arguments.packed(VERBS["create_disk"], found) == {"new": NewDisk(MACHINE, DISK, 10, "ext4")}
    assert arguments.packed(VERBS["delete_disk"], found) == found
    with pytest.raises(Refused, match="create_disk needs size"):
        arguments.checked("create_disk", VERBS["create_disk"], {"machine": MACHINE, "disk": DISK})


def test_an_agent_of_the_release_before_knows_all_fields_of_a_new_disk():
    """An agent refuses unknown arguments, so a new field must wait for a new `PROTOCOL`."""
    assert [each.name for each in fields(NewDisk)] == [
        "machine", "disk", "size", "filesystem", "image", "copy_of", "hostname", "root_hash", "authorized_keys",
        "script",
    ]  # fmt: skip
    assert PROTOCOL == 2


def test_a_key_is_one_line():
    for bad in (f"{KEY}\nssh-ed25519 AAAA", f"{KEY}\r", "a\0"):
        with pytest.raises(Refused):
            arguments.checked(
                "create_disk", VERBS["create_disk"], {**values_of("create_disk"), "authorized_keys": [bad]}
            )


def test_a_port_range_ends_at_or_after_its_first_port():
    values = values_of("set_firewall")
    path = ("firewall", "rules", "inbound", 0, "ports", 0)
    with pytest.raises(Refused):
        arguments.checked("set_firewall", VERBS["set_firewall"], replaced(values, path, [23, 22]))


# --- what becomes of it -------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path, monkeypatch) -> Store:
    """A host on which no program may be started."""

    def started(*command: str, **named: Any) -> None:
        pytest.fail(f"started {command}")

    monkeypatch.setattr(commands.subprocess, "run", started)
    return Store(tmp_path)


@pytest.mark.parametrize("text", ["flush ruleset", 'include "/etc/shadow"'])
def test_a_text_of_nftables_is_not_taken_and_may_be_repeated_by_newer_workers(store, text):
    call(store, "define", {name: ANY[name] for name in ("machine", "memory", "vcpus", "mac")})
    asked = {"machine": MACHINE, "version": 9, "ruleset": text}
    boot = {**asdict(BOOT), "firewall": {"version": 9, "ruleset": text}}
    left = {**LEFT, "firewall": {"version": 9, "ruleset": text}}
    for verb, values in (
        ("set_firewall", asked),
        ("start", {"machine": MACHINE, "boot": boot}),
        ("expect", {"machine": MACHINE, "left": left}),
    ):
        response = agent_program.answer(store, json.dumps({"verb": verb, "values": values}).encode())
        assert response == {"failed": OTHER_RELEASE}
    assert firewalls.firewall(store, MACHINE) is None


def test_names_of_tables_that_are_no_machines_are_never_made(store):
    for name in ("filter", "skerry", "skerry-x", "skerry-7-1"):
        with pytest.raises(Refused):
            call(store, "define", {**{each: ANY[each] for each in ("memory", "vcpus", "mac")}, "machine": name})
        with pytest.raises(Refused):
            call(store, "expect", {"machine": name, "left": LEFT})
    assert not (store.root / "machines").exists()


def test_output_of_programs_is_in_the_log_of_the_host_and_in_no_answer(tmp_path, monkeypatch, capsys):
    failing = subprocess.CompletedProcess(("nft",), 1, "", "root:$6$secret:")
    monkeypatch.setattr(commands.subprocess, "run", lambda *command, **named: failing)
    store = Store(tmp_path / "host")
    call(store, "define", {name: ANY[name] for name in ("machine", "memory", "vcpus", "mac")})
    records.write(store.root / "host.json", {"networking": True})
    request = {"verb": "set_firewall", "values": {"machine": MACHINE, "firewall": asdict(FIREWALL)}}
    response = agent_program.answer(store, json.dumps(request).encode())
    assert response == {"failed": "nft failed on this host."}
    assert "secret" not in capsys.readouterr().err
    log = store.root / "agent.log"
    assert "root:$6$secret:" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "request_",
    [
        b"[" * 200_000,
        b'{"verb": "power", "values": {"machine": ' + b"[" * 100_000,
        b"\xff",
        b"",
        b"9" * 5000,
        b"[]",
    ],
    ids=["deep", "deep-value", "bytes", "empty", "long-number", "list"],
)
def test_a_request_that_cannot_be_read_is_refused(store, request_):
    assert agent_program.answer(store, request_) == {"refused": "The request is not valid."}


def test_an_agent_says_which_protocol_it_speaks(store):
    assert agent_program.answer(store, b'{"verb": "protocol", "values": {}}') == {"result": PROTOCOL}


@pytest.mark.parametrize(
    "key", ["ssh-ed25519 AAAA\ncommand", 'ssh-ed25519 AAAA"', "no key", 'x" ssh-ed25519 AAAA', ""]
)
def test_only_a_public_key_is_admitted(tmp_path, key):
    with pytest.raises(Refused):
        agent_program.admission(tmp_path, "", key)


@pytest.mark.parametrize("shared", ['/a"b', "/a\nb", "/a\\b"])
def test_a_directory_cannot_end_the_command_of_a_key(tmp_path, shared):
    with pytest.raises(Refused):
        agent_program.admission(tmp_path, shared, "ssh-ed25519 AAAA skerry")
