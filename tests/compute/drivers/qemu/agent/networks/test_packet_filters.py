"""Rulesets of firewalls: their text, nft's check of them, and the packets that pass."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compute.drivers.qemu.agent.errors import Refused
from compute.drivers.qemu.agent.networks import packet_filters
from compute.drivers.qemu.agent.networks.nics import tap
from compute.drivers.qemu.agent.networks.packet_filters import merged_ports
from compute.services.networking.firewalls.delivery import Wanted
from compute.worker.networking.firewall_specs import firewall_spec

MACHINE, INTERFACE = "skerry-7", tap("skerry-7")
EVERYWHERE = {"ipv4": ["0.0.0.0/0"], "ipv6": ["::/0"]}
NAMESPACES = ("host", "guest", "world")
DRIVERS = Path(__file__).parents[6] / "docs" / "drivers.md"
# Debian's path of these programs, which is not in every user's PATH.
ENVIRONMENT = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}


def rule(action: str = "ACCEPT", protocol: str = "TCP", **rest: Any) -> dict[str, Any]:
    return {"action": action, "protocol": protocol, "addresses": EVERYWHERE, **rest}


def rules(*inbound: dict, outbound: tuple[dict, ...] = (), policies: tuple[str, str] = ("DROP", "ACCEPT")) -> dict:
    return {
        "inbound": list(inbound),
        "outbound": list(outbound),
        "inbound_policy": policies[0],
        "outbound_policy": policies[1],
    }


def render(rules: dict[str, Any] | None, mail_ports_closed: bool = False) -> str:
    """Return the ruleset that a host makes from rules of the API."""
    spec = firewall_spec(Wanted(1, rules, mail_ports_closed))
    return packet_filters.render(MACHINE, json.loads(json.dumps(asdict(spec))))


def text_of(*inbound: dict, **rest: Any) -> str:
    return render(rules(*inbound, **rest))


def chain(text: str, name: str) -> list[str]:
    """The lines of one chain."""
    return re.search(rf"\tchain {name} {{\n(.*?)\n\t}}", text, re.DOTALL)[1].replace("\t", "").split("\n")


def call(*command: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=text, text=True, capture_output=True, timeout=240, env=ENVIRONMENT)


def needs(*programs: str) -> None:
    """Skip the test if one of the programs is not installed. In CI, where all must be installed, fail the test."""
    missing = [program for program in programs if shutil.which(program, path=ENVIRONMENT["PATH"]) is None]
    if missing and os.environ.get("CI"):
        pytest.fail(f"CI has to have {', '.join(missing)}")
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")


# --- the text -----------------------------------------------------------------------------------------------


def test_rules_stand_in_order_between_open_connections_and_the_policy():
    text = text_of(rule(ports="22"), rule("DROP", "ICMP"), outbound=(rule("DROP", "UDP", ports="53"),))
    assert chain(text, "inbound") == [
        "ct state established,related counter accept",
        "meta nfproto ipv4 tcp dport { 22 } counter accept",
        "meta nfproto ipv6 tcp dport { 22 } counter accept",
        "meta nfproto ipv4 meta l4proto icmp counter drop",
        "meta nfproto ipv6 meta l4proto ipv6-icmp counter drop",
        "counter drop",
    ]
    assert chain(text, "outbound") == [
        "ct state established,related counter accept",
        "meta nfproto ipv4 udp dport { 53 } counter drop",
        "meta nfproto ipv6 udp dport { 53 } counter drop",
        "counter accept",
    ]


def test_networks_are_those_of_the_other_end():
    near = {"ipv4": ["198.51.100.0/24"], "ipv6": ["2001:db8::/32"]}
    text = text_of(rule(addresses=near), outbound=(rule(addresses=near),))
    assert "ip saddr { 198.51.100.0/24 } meta l4proto tcp counter accept" in chain(text, "inbound")
    assert "ip6 daddr { 2001:db8::/32 } meta l4proto tcp counter accept" in chain(text, "outbound")


def test_a_family_without_networks_has_no_line():
    text = text_of(rule(addresses={"ipv6": ["2001:db8::/32"], "ipv4": []}), rule(addresses={}))
    assert len(chain(text, "inbound")) == 3


def test_overlapping_networks_and_ports_are_one():
    overlapping = {"ipv4": ["10.0.0.0/8", "10.1.0.0/16", "10.0.0.7/8", "11.0.0.0/8"]}
    text = text_of(rule(addresses=overlapping, ports="22,20-25, 26, 80-90, 85-95, 443"))
    assert chain(text, "inbound")[1] == "ip saddr { 10.0.0.0/7 } tcp dport { 20-26, 80-95, 443 } counter accept"


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(1, 65535), st.integers(1, 65535)).map(lambda pair: tuple(sorted(pair)))))
def test_merging_keeps_all_ports_and_lets_none_overlap(ranges):
    merged = merged_ports(ranges)
    assert all(high + 1 < low for (_, high), (low, _) in pairwise(merged))
    looked_at = {port + step for pair in ranges for port in pair for step in (-1, 0, 1)}
    for port in looked_at:
        assert any(a <= port <= b for a, b in merged) == any(a <= port <= b for a, b in ranges)


def test_without_an_enabled_firewall_there_is_nothing_but_its_end():
    assert render(None) == "table inet skerry-7\ndelete table inet skerry-7\n"


def test_closed_mail_ports_stand_before_every_rule():
    every = rule(addresses=EVERYWHERE)
    text = render(rules(outbound=(every,)), mail_ports_closed=True)
    assert chain(text, "outbound")[:3] == [
        "ct state established,related counter accept",
        "tcp dport { 25, 465, 587 } counter drop",
        "meta nfproto ipv4 meta l4proto tcp counter accept",
    ]
    assert chain(text, "inbound") == chain(text_of(), "inbound")


def test_without_a_firewall_closed_mail_ports_are_all_there_is():
    text = render(None, mail_ports_closed=True)
    assert chain(text, "outbound") == [
        "ct state established,related counter accept",
        "tcp dport { 25, 465, 587 } counter drop",
    ]
    for name in ("forward", "input"):
        hook = f"type filter hook {name} priority filter; policy accept;"
        assert chain(text, name) == [hook, f'iifname "{INTERFACE}" jump outbound']
    assert text.count("chain") == 3


def test_the_interface_of_any_instance_has_a_name_that_a_host_takes():
    assert len(tap(f"skerry-{10**12 - 1}")) == 15


NASTY = (
    'x" accept; } table inet owned {', "a\nflush ruleset\n", "$(reboot)", "`id`", "\\", "a;b", "{ }", "# no",
    "\0null", "snowman ☃", "\u2028", "include \"/etc/passwd\"", "@set", "a\tb", "'", "x" * 32,
)  # fmt: skip


@pytest.mark.parametrize("label", NASTY)
def test_a_label_is_never_more_than_a_comment(label):
    plain, labelled = text_of(rule(ports="22")), text_of(rule(ports="22", label=label, description=label))
    comments = re.findall(r' comment "([A-Za-z0-9 _.:/?-]{1,64})"\n', labelled)
    assert len(comments) == 2
    assert re.sub(r' comment "[^"\n]*"', "", labelled) == plain


@pytest.mark.parametrize("bad", ["22; drop", "22 }", "0", "a", "22-", "-", "65536", "022"])
def test_ports_that_are_none_never_become_text(bad):
    with pytest.raises(ValueError, match="ports is not valid"):
        text_of(rule(ports=bad))


@pytest.mark.parametrize("bad", ["10.0.0.0/8 }", "0.0.0.0/0; accept", "all", "fe80::1%}/64", "fe80::%eth0/64"])
def test_networks_that_are_none_never_become_text(bad):
    with pytest.raises(ValueError, match=r"network|address"):
        text_of(rule(addresses={"ipv6" if ":" in bad else "ipv4": [bad]}))


@pytest.mark.parametrize("bad", ["filter", "skerry", "skerry-7 {", "skerry-7\n", "skerry-x", "skerry-7-1", ""])
def test_a_table_is_named_after_a_machine_alone(bad):
    with pytest.raises(Refused):
        packet_filters.render(bad, {"rules": None, "closed_ports": []})
    with pytest.raises(Refused):
        packet_filters.removal(bad)


@pytest.mark.parametrize("field", ["action", "protocol"])
def test_words_that_are_none_never_become_text(field):
    with pytest.raises(KeyError):
        text_of(rule() | {field: "accept; flush ruleset"})


# --- what nft says to it ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def nft() -> Callable[[str], None]:
    """Return a function that checks a text as nft would load it, in a network of its own. It fails with nft's
    message."""
    needs("nft", "unshare")
    apart = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    if call(*apart, "nft", "list", "ruleset").returncode:
        pytest.skip("needs the right to make a network namespace")

    def check(text: str) -> None:
        done = call(*apart, "nft", "-c", "-f", "-", text=text)
        assert done.returncode == 0, f"{done.stderr}\n{text}"

    return check


@pytest.mark.guest
def test_nft_takes_the_end_of_a_table_that_is_not_there(nft):
    nft(render(None))


@pytest.mark.guest
def test_nft_takes_every_protocol_action_and_policy(nft):
    for inbound, outbound in (("DROP", "DROP"), ("ACCEPT", "ACCEPT"), ("DROP", "ACCEPT")):
        every = [
            rule(action, protocol, label="what it's for", **({"ports": ports} if ports else {}))
            for action in ("ACCEPT", "DROP")
            for protocol, ports in (("TCP", "22, 80-90"), ("TCP", ""), ("UDP", "53"), ("ICMP", ""), ("IPENCAP", ""))
        ]
        nft(text_of(*every, outbound=tuple(every), policies=(inbound, outbound)))


@pytest.mark.guest
@pytest.mark.parametrize("label", NASTY)
def test_nft_takes_every_comment(nft, label):
    nft(text_of(rule(label=label)))


@pytest.mark.guest
def test_nft_takes_the_largest_firewall(nft):
    many = {
        "ipv4": [f"10.{n}.{n * 7 % 256}.{n * 3 % 256}/32" for n in range(128)],
        "ipv6": [f"2001:db8:{n:x}:{n * n:x}::/64" for n in range(127)],
    }
    ports = "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29"
    nft(text_of(*[rule(addresses=many, ports=ports, label="x" * 32)] * 25))


NETWORKS = {
    "ipv4": st.lists(st.tuples(st.ip_addresses(v=4), st.integers(0, 32)), max_size=12),
    "ipv6": st.lists(st.tuples(st.ip_addresses(v=6), st.integers(0, 128)), max_size=12),
}


@pytest.mark.guest
def test_nft_takes_any_networks_and_ports_that_are_accepted(nft):
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.fixed_dictionaries(NETWORKS), st.lists(st.integers(1, 65534), max_size=15), st.text(max_size=32))
    def filter_set(networks, ports, label):
        written = {family: [f"{first}/{length}" for first, length in found] for family, found in networks.items()}
        pieces = ", ".join(f"{port}-{port + 1}" if port % 3 else str(port) for port in ports)
        nft(text_of(rule(addresses=written, ports=pieces, label=label)))

    filter_set()


# --- what really comes through ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Net:
    """A guest, its host and the world: ``guest —sk-7— host — world``, each in a namespace."""

    prefix: str

    def run(self, where: str, *command: str, text: str | None = None, check: bool = True) -> str:
        done = call("ip", "netns", "exec", f"{self.prefix}{where}", *command, text=text)
        assert not check or done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def load(self, text: str) -> None:
        self.run("host", "nft", "-f", "-", text=text)

    def listed(self) -> str:
        return self.run("host", "nft", "list", "ruleset")

    def talk(
        self, sender: str, receiver: str, address: str, *ports: int, kind: str = "udp", source: int = 0
    ) -> list[int]:
        """Send to `ports` in turn, and return the receiver's ports at which packets arrived.

        The packets come from the port `source`, or from any. The last port must be open: when its packet
        arrives, all packets before it that passed have arrived too.
        """
        script = [sys.executable, "-I", "-c", TALK]
        apart = ["ip", "netns", "exec", f"{self.prefix}{receiver}"]
        arguments = [kind, address, str(source), *map(str, ports)]
        hears = subprocess.Popen(
            [*apart, *script, "hear", *arguments], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
        )
        try:
            assert hears.stdout is not None
            assert hears.stdout.readline() == "ready\n"
            self.run(sender, *script, "say", *arguments)
            return [int(port) for port in hears.communicate(timeout=240)[0].split()]
        finally:
            hears.kill()


TALK = """
import contextlib, os, select, socket, sys
mode, kind, address, *ports = sys.argv[1:]
source, *ports = map(int, ports)
family = socket.AF_INET6 if ":" in address else socket.AF_INET
type = socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM
if mode == "hear":
    open = {}
    for port in ports:
        own = socket.socket(family, type)
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind((address, port))
        if kind == "tcp":
            own.listen()
        open[own] = port
    print("ready", flush=True)
    heard = []
    while ports[-1] not in heard:
        for own in select.select(list(open), [], [])[0]:
            if kind == "tcp":
                other, _ = own.accept()
                other.sendall(b"hello back")
                other.close()
            else:
                own.recv(100)
            heard.append(open[own])
    print(*heard)
else:
    # on one processor, whose packets overtake none of each other
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    kept = []
    for port in ports:
        own = socket.socket(family, type)
        own.bind(("", source))
        if kind == "udp":
            # a host learns at once that its own packet was dropped
            with contextlib.suppress(PermissionError):
                own.sendto(b"hello", (address, port))
        elif port == ports[-1]:
            own.connect((address, port))
            assert own.makefile("rb").read() == b"hello back"
        else:
            # its first packet is sent at once; what is dropped is not waited for
            own.setblocking(False)
            own.connect_ex((address, port))
            kept.append(own)  # closed at once it would make no connection, though it were let through
"""


@pytest.fixture
def net(nft) -> Iterator[Net]:
    needs("ip")
    if os.geteuid() != 0:
        pytest.skip("needs root, to make network namespaces with names")
    net = Net(f"sk{os.getpid()}-")
    for name in NAMESPACES:
        made = call("ip", "netns", "add", f"{net.prefix}{name}")
        if made.returncode:
            _tear_down(net)
            pytest.skip(f"needs the right to make network namespaces: {made.stderr}")
    try:
        _wire(net, "guest", INTERFACE, "198.18.7", "fd00:7")
        _wire(net, "world", "uplink", "198.18.8", "fd00:8")
        for switch in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
            net.run("host", "sh", "-c", f"echo 1 > /proc/sys/net/{switch}")
        yield net
    finally:
        _tear_down(net)


def _wire(net: Net, other: str, name: str, v4: str, v6: str) -> None:
    """Connect the host to another one, which uses the host as its router."""
    net.run(
        "host", "ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", f"{net.prefix}{other}"
    )
    for where, link, last in (("host", name, 1), (other, "eth0", 2)):
        net.run(where, "ip", "address", "add", f"{v4}.{last}/24", "dev", link)
        net.run(where, "ip", "address", "add", f"{v6}::{last}/64", "dev", link, "nodad")
        net.run(where, "ip", "link", "set", link, "up")
    net.run(other, "ip", "route", "add", "default", "via", f"{v4}.1")
    net.run(other, "ip", "route", "add", "default", "via", f"{v6}::1")


def _tear_down(net: Net) -> None:
    for name in NAMESPACES:
        call("ip", "netns", "delete", f"{net.prefix}{name}")


GUEST4, GUEST6, WORLD4, WORLD6 = "198.18.7.2", "fd00:7::2", "198.18.8.2", "fd00:8::2"


@pytest.mark.guest
@pytest.mark.parametrize("address", [GUEST4, GUEST6])
def test_only_accepted_connections_come_in(net, address):
    net.load(text_of(rule("DROP", "UDP", ports="84"), rule(protocol="UDP", ports="80-90"), rule(ports="22")))
    assert net.talk("world", "guest", address, 53, 84, 91, 80, 90) == [80, 90]
    assert net.talk("world", "guest", address, 23, 80, 22, kind="tcp") == [22]
    assert net.talk("host", "guest", address, 53, 80) == [80]


@pytest.mark.guest
@pytest.mark.parametrize("address", [WORLD4, WORLD6])
def test_answers_to_the_guests_connections_come_in(net, address):
    net.load(text_of())
    assert net.talk("guest", "world", address, 443, kind="tcp") == [443]


@pytest.mark.guest
@pytest.mark.parametrize("address", [WORLD4, WORLD6])
def test_only_accepted_connections_go_out(net, address):
    net.load(text_of(outbound=(rule(protocol="UDP", ports="53"), rule(ports="443")), policies=("DROP", "DROP")))
    assert net.talk("guest", "world", address, 54, 123, 53) == [53]
    assert net.talk("guest", "world", address, 80, 443, kind="tcp") == [443]


@pytest.mark.guest
def test_networks_decide_which_connections_come_in(net):
    inside = {"ipv4": ["198.18.8.0/25"], "ipv6": ["fd00:8::2/128"]}
    outside = {"ipv4": ["198.18.8.128/25"], "ipv6": ["fd00:8::3/128"]}
    net.load(
        text_of(
            rule(protocol="UDP", ports="1000", addresses=outside),
            rule(protocol="UDP", ports="1001", addresses=inside),
        )
    )
    for address in (GUEST4, GUEST6):
        assert net.talk("world", "guest", address, 1000, 1001) == [1001]


@pytest.mark.guest
def test_guests_get_addresses_behind_the_strictest_firewall(net):
    """The host answers neighbour discovery and DHCP, between host and guest alone."""
    net.load(text_of(rule(protocol="UDP", ports="9"), policies=("DROP", "DROP")))
    for where in ("host", "guest"):
        net.run(where, "ip", "neighbour", "flush", "all")
    for own, server in ((68, 67), (546, 547)):
        ask, reply = (GUEST4, "198.18.7.1") if own == 68 else (GUEST6, "fd00:7::1")
        net.run("guest", sys.executable, "-I", "-c", SAY_FROM, ask, str(own), reply, str(server))
        net.run("host", sys.executable, "-I", "-c", SAY_FROM, reply, str(server), ask, str(own))
        assert counted(net, f'iifname "{INTERFACE}" udp sport {own} udp dport {server}') == 1
        assert counted(net, f'oifname "{INTERFACE}" udp sport {server} udp dport {own}') == 1
    assert counted(net, f'iifname "{INTERFACE}" ip6 hoplimit 255 icmpv6') > 0
    for address, own, server in ((GUEST4, 68, 67), (GUEST6, 546, 547)):
        assert net.talk("world", "guest", address, own, 9, source=server) == [9], "from afar it is no answer"


SAY_FROM = """
import socket, sys
own, own_port, address, port = sys.argv[1:]
it = socket.socket(socket.AF_INET6 if ":" in own else socket.AF_INET, socket.SOCK_DGRAM)
it.bind((own, int(own_port)))
it.sendto(b"hello", (address, int(port)))
"""


def counted(net: Net, begins: str) -> int:
    """Return the host's packet count of the rule that begins with `begins`."""
    (found,) = [line.strip() for line in net.listed().split("\n") if line.strip().startswith(begins)]
    return int(re.search(r"packets (\d+)", found)[1])


@pytest.mark.guest
def test_pings_are_let_in_by_a_rule_of_their_own(net):
    net.load(text_of(rule(protocol="ICMP")))
    for address in (GUEST4, GUEST6):
        net.run("world", sys.executable, "-I", "-c", PING, address)


PING = """
import socket, struct, sys
six = ":" in sys.argv[1]
it = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_RAW, 58 if six else 1)
it.settimeout(240)
body = struct.pack("!HH", 7, 1)
head = bytes([128 if six else 8, 0])
total = sum(struct.unpack("!4H", head + b"\\0\\0" + body))
checksum = 0 if six else 0xFFFF - (total % 0xFFFF)
it.sendto(head + struct.pack("!H", checksum) + body, (sys.argv[1], 0))
while True:
    answer = it.recv(1500)
    if answer[0 if six else 20] == (129 if six else 0):
        break
"""


@pytest.mark.guest
def test_a_new_ruleset_replaces_the_old_one_and_connections_go_on(net):
    net.load(text_of(rule(protocol="UDP", ports="80")))
    net.load(text_of(rule(protocol="UDP", ports="81")))
    assert net.talk("world", "guest", GUEST4, 80, 81) == [81]
    before = net.listed()
    net.load(text_of(rule(protocol="UDP", ports="81")))
    bare = [re.sub(r"packets \d+ bytes \d+", "", text) for text in (before, net.listed())]
    assert bare[0] == bare[1]


LETTING_ALL_OUT = rules(policies=("ACCEPT", "ACCEPT"), outbound=(rule(ports="25, 465, 587"), rule()))


@pytest.mark.guest
@pytest.mark.parametrize("firewall", [None, LETTING_ALL_OUT], ids=["no firewall", "one that lets all out"])
@pytest.mark.parametrize(("world", "host"), [(WORLD4, "198.18.7.1"), (WORLD6, "fd00:7::1")], ids=["IPv4", "IPv6"])
def test_closed_mail_ports_let_no_new_connection_out(net, firewall, world, host):
    net.load(render(firewall, mail_ports_closed=True))
    assert net.talk("guest", "world", world, 25, 465, 587, 24, 26, 466, 2525, kind="tcp") == [24, 26, 466, 2525]
    assert net.talk("guest", "host", host, 25, 465, 587, 26, kind="tcp") == [26], "the host is no way around"
    assert net.talk("guest", "world", world, 25, 465, 587) == [25, 465, 587], "UDP is no mail"
    net.load(render(firewall))
    assert net.talk("guest", "world", world, 25, 465, 587, kind="tcp") == [25, 465, 587]


@pytest.mark.guest
@pytest.mark.parametrize("firewall", [None, LETTING_ALL_OUT], ids=["no firewall", "one that lets all in"])
@pytest.mark.parametrize("address", [GUEST4, GUEST6])
def test_a_mail_server_behind_closed_mail_ports_is_answered_by(net, firewall, address):
    """If the other server sends from a mail port, the guest's replies go to a mail port too."""
    net.load(render(firewall, mail_ports_closed=True))
    assert net.talk("world", "guest", address, 25, 465, 587, kind="tcp") == [25, 465, 587]
    assert net.talk("world", "guest", address, 587, kind="tcp", source=25) == [587]
    assert net.talk("world", "guest", address, 8025, kind="tcp", source=465) == [8025]


@dataclass(frozen=True)
class Standing:
    """A connection from the world to the guest, which echoes its input."""

    hears: subprocess.Popen[str]
    says: subprocess.Popen[str]

    def echo(self, word: str) -> str:
        assert self.says.stdin is not None
        assert self.says.stdout is not None
        print(word, file=self.says.stdin, flush=True)
        return self.says.stdout.readline().strip()


@pytest.fixture
def standing(net) -> Iterator[Standing]:
    def begin(where: str, mode: str) -> subprocess.Popen[str]:
        script = [sys.executable, "-I", "-c", STAND, mode, GUEST4]
        apart = ["ip", "netns", "exec", f"{net.prefix}{where}"]
        pipe = subprocess.PIPE
        return subprocess.Popen([*apart, *script], stdin=pipe, stdout=pipe, text=True, env=ENVIRONMENT)

    net.load(always_tracked())
    with begin("guest", "hear") as hears:
        assert hears.stdout is not None
        assert hears.stdout.readline() == "ready\n"
        with begin("world", "say") as says:
            yield Standing(hears, says)
            says.kill()
        hears.kill()


STAND = """
import socket, sys
mode, address = sys.argv[1:]
if mode == "hear":
    own = socket.create_server((address, 7000))
    print("ready", flush=True)
    other, _ = own.accept()
    while received := other.recv(100):
        other.sendall(received)
else:
    own = socket.create_connection((address, 7000), timeout=240)
    for line in sys.stdin:
        own.sendall(line.encode())
        print(own.recv(100).decode(), end="", flush=True)
"""


def always_tracked() -> str:
    """Return the table that operators load on hosts before anything else, from docs/drivers.md."""
    return re.search(r"^ *table inet skerry {\n(.*\n)*? *}\n", DRIVERS.read_text(), re.MULTILINE)[0]


@pytest.mark.guest
def test_a_connection_that_stands_is_cut_by_no_firewall_not_even_the_first(net, standing):
    assert standing.echo("none") == "none"
    net.load(text_of(rule(protocol="UDP", ports="9"), policies=("DROP", "DROP")))
    assert standing.echo("the first") == "the first"
    net.load(text_of(rule(protocol="UDP", ports="9"), rule("DROP", ports="7000"), policies=("DROP", "DROP")))
    assert standing.echo("another") == "another"
    net.load(render(None))
    assert standing.echo("none again") == "none again"
    net.load(render(None, mail_ports_closed=True))
    assert standing.echo("mail ports") == "mail ports"
    net.load(text_of(rule(protocol="UDP", ports="9"), policies=("DROP", "DROP")))
    assert standing.echo("the last") == "the last"
    assert net.talk("world", "guest", GUEST4, 7000, 9) == [9], "one that begins now comes not in"


@pytest.mark.guest
def test_disabled_it_is_gone_and_everything_comes_in(net):
    net.load(text_of())
    net.load(render(None))
    assert net.listed() == ""
    assert net.talk("world", "guest", GUEST4, 23, 9999) == [23, 9999]


@pytest.mark.guest
def test_guests_of_one_host_have_each_their_own(net):
    net.load(text_of(rule(protocol="UDP", ports="80")))
    other = text_of(rule(protocol="UDP", ports="90"))
    net.load(other.replace(MACHINE, "skerry-8").replace(f'"{INTERFACE}"', '"uplink"'))
    assert net.talk("world", "guest", GUEST4, 90, 80) == [80]
    assert net.talk("guest", "world", WORLD4, 80, 90) == [90]
    net.load(render(None))
    assert net.talk("guest", "world", WORLD4, 80, 90) == [90]
