"""The driver with agents of the previous release, which accept packet filters as a text of nftables."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from compute.drivers.base import Address, DriverError, FirewallRule, FirewallRules, FirewallSpec, Options
from compute.drivers.qemu.agent.disks.systems import HOST_NAME
from compute.drivers.qemu.agent.networks.packet_filters import render
from compute.drivers.qemu.driver import QemuDriver, host_name
from compute.drivers.qemu.ssh import Ssh
from tests.compute.drivers.machines import DISK, FIRST, MACHINE, OTHER, boot_spec

RULE = FirewallRule("accept", "tcp", ((22, 22),), ("198.51.100.0/24",))
FIREWALL = FirewallSpec(3, FirewallRules((RULE,), inbound_policy="drop"))
DATA = asdict(FIREWALL)
TEXT = {"version": 3, "ruleset": render(MACHINE, DATA)}
ANSWERS: dict[str, Any] = {
    "set_firewall": 3, "start": {"percent": 100}, "is_whole": False, "arrived": True, "power": "off",
}  # fmt: skip


class Agent:
    """A recorder of the agent's calls."""

    def __init__(self, takes_data: bool, firewall: dict[str, Any] | None = None):
        self.asked: dict[str, dict[str, Any]] = {}
        self.data, self.firewall = takes_data, firewall

    def takes_data(self) -> bool:
        return self.data

    def call(self, verb: str, **values: Any) -> Any:
        self.asked[verb] = values
        if verb == "leaving":
            return {"description": {}, "firewall": self.firewall, "disks": {DISK: [1, 2, 3]}}
        return ANSWERS.get(verb)


def driver(agent: Agent, address: Address = FIRST) -> QemuDriver:
    made = QemuDriver(address, Options(timeout=10))
    made.__dict__["agent"] = agent
    return made


@pytest.mark.parametrize(("takes_data", "form"), [(True, DATA), (False, TEXT)], ids=["now", "before"])
def test_an_agent_gets_packet_filters_in_the_form_that_it_takes(takes_data, form):
    agent = Agent(takes_data)
    host = driver(agent)
    assert host.set_firewall(MACHINE, FIREWALL) == 3
    assert agent.asked["set_firewall"] == {"machine": MACHINE, **({"firewall": form} if takes_data else form)}
    assert host.start(MACHINE, replace(boot_spec(), firewall=FIREWALL)).done
    assert agent.asked["start"]["boot"]["firewall"] == form
    host.set_peers("10.0.0.1", ["10.0.0.2"], ["198.51.100.0/24"])
    assert ("customers" in agent.asked["set_peers"]) is takes_data


@pytest.mark.parametrize(
    ("given", "takes_data", "expected"),
    [(DATA, True, DATA), (DATA, False, TEXT), (TEXT, False, TEXT), (TEXT, True, None), (None, False, None)],
)
def test_a_packet_filter_moves_in_the_form_that_the_other_host_takes(given, takes_data, expected):
    source, target = Agent(given != TEXT, given), Agent(takes_data)
    assert driver(target, OTHER).receive(MACHINE, driver(source)).done
    assert target.asked["expect"]["left"]["firewall"] == expected


def test_an_agent_is_asked_for_its_protocol_until_it_takes_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    failed = {"failed": "The call failed. The log of the host has the reason."}
    unknown = {"refused": "There is no verb 'protocol'."}
    responses: list[Any] = [unknown, {"result": 2}, failed, unknown]
    asked = []

    def run(self: Ssh, request: bytes) -> bytes:
        asked.append(json.loads(request)["verb"])
        return json.dumps(responses.pop(0)).encode()

    monkeypatch.setattr(Ssh, "_run", run)
    address = Address("hv1", "qemu", "ssh://root@hv1/var/lib/skerry", host_key="ssh-ed25519 AAAA")
    agent = Ssh(address, Options(timeout=10, identity=str(tmp_path / "key")))
    assert [agent.takes_data() for _ in range(3)] == [False, True, True]
    assert asked == ["protocol", "protocol"]
    with pytest.raises(DriverError):
        agent.call("set_firewall", firewall=DATA)
    assert not agent.takes_data(), "its host went back to the previous release"


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("web-1", "web-1"),
        ("my_web.eu", "my-web.eu"),
        ("a" * 62 + "_b", "a" * 62),
        ("a" * 64, "a" * 63),
        (None, None),
    ],
)
def test_a_system_is_named_after_the_label_of_its_instance(label, name):
    assert host_name(label) == name
    assert name is None or HOST_NAME.fullmatch(name)
