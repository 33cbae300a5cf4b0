"""Refused addresses: all tricks to reach networks that are not on the internet."""

import asyncio
import ipaddress
import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.egress import guard
from config.egress.guard import FORBIDDEN, NEEDS_REGION, NO_REGION, is_forbidden, is_open, is_private, refusal
from config.environment.openid import OpenID

OURS = {
    "this host": ("0.0.0.0", "0.1.2.3", "::"),
    "loopback": ("127.0.0.1", "127.0.0.53", "127.255.255.254", "::1"),
    "link-local": ("169.254.0.1", "fe80::1", "febf::1", "fec0::1"),
    "carriers": ("100.64.0.1", "100.127.255.255", "192.0.0.1"),
    "multicast": ("224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::8:8"),
    "reserved": ("240.0.0.1", "255.255.255.255", "100::1", "4000::1", "5f00::1", "fe00::1"),
    "metadata of AWS": ("169.254.169.254", "169.254.170.2", "169.254.170.23", "fd00:ec2::254", "fd00:ec2::23"),
    "metadata of Google": ("169.254.169.254", "fd20:ce::254"),
    "metadata of Azure": ("169.254.169.254", "168.63.129.16"),
    "metadata of Oracle": ("192.0.0.192", "fd00:c1::a9fe:a9fe"),
    "metadata of Alibaba": ("100.100.100.200",),
    "metadata of others": ("169.254.42.42", "fd00:42::42", "fd00:a9fe:a9fe::1", "fe80::a9fe:a9fe"),
    "zones": ("fe80::1%eth0", "2606:4700::1111%1", "::1%lo"),
    "what a translator made local": ("64:ff9b:1::7f00:1", "64:ff9b:1::808:808"),
}
CARRIERS = {
    "mapped": "::ffff:{0}",
    "compatible": "::{0}",
    "translated": "::ffff:0:{0}",
    "NAT64": "64:ff9b::{0}",
    "6to4": "2002:{1}::1",
    "Teredo": "2001:0:0808:0808:0:0:{2}",
    "Teredo's server": "2001:0:{1}:0:0:f7f7:f7f7",
    "ISATAP": "2001:db8::5efe:{0}",
    "ISATAP, universal": "2606:4700::200:5efe:{0}",
}


def carried(form: str, address: str) -> ipaddress.IPv6Address:
    """Return the IPv6 address that contains this IPv4 address."""
    number = int(ipaddress.IPv4Address(address))
    high, low = number >> 16, number & 0xFFFF
    return ipaddress.IPv6Address(form.format(address, f"{high:x}:{low:x}", f"{high ^ 0xFFFF:x}:{low ^ 0xFFFF:x}"))


def ip(text: str) -> guard.Address:
    return ipaddress.ip_address(text)


@pytest.mark.parametrize("address", [each for group in OURS.values() for each in group])
def test_addresses_outside_the_internet_are_always_refused(address):
    assert refusal([ip(address)], private=False) == FORBIDDEN
    assert refusal([ip(address)], private=True) == FORBIDDEN


@pytest.mark.parametrize("address", ["8.8.8.8", "203.0.114.9", "1.1.1.1", "2606:4700::1111", "2a00:1450::8a"])
def test_public_addresses_are_accepted_only_without_a_region(address):
    assert refusal([ip(address)], private=False) is None
    assert refusal([ip(address)], private=True) == NO_REGION


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fd12::1", "fc00::1"]
)
def test_private_addresses_are_accepted_only_with_a_region(address):
    assert refusal([ip(address)], private=True) is None
    assert refusal([ip(address)], private=False) == NEEDS_REGION


@pytest.mark.parametrize("address", ["172.15.255.255", "172.32.0.1", "192.167.255.255", "11.0.0.1"])
def test_neighbours_of_private_networks_are_public(address):
    assert not is_private(ip(address))


@pytest.mark.parametrize("form", CARRIERS.values(), ids=CARRIERS)
@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1", "168.63.129.16"])
def test_forbidden_addresses_are_forbidden_in_every_ipv6_form(form, address):
    if (form, address) == ("::{0}", "0.0.0.0"):
        assert is_forbidden(ip("::"))
    assert is_forbidden(carried(form, address))


@pytest.mark.parametrize("form", CARRIERS.values(), ids=CARRIERS)
def test_private_addresses_are_private_in_every_ipv6_form(form):
    assert is_private(carried(form, "192.168.7.7"))
    assert not is_private(carried(form, "9.9.9.9"))


@pytest.mark.parametrize("prefix", ["fe80::", "ff02::"])
def test_a_public_address_in_a_local_one_does_not_make_it_public(prefix):
    assert is_forbidden(ip(f"{prefix}5efe:8.8.8.8"))


def test_a_public_address_in_a_private_one_leaves_it_private():
    assert is_private(ip("fd00::5efe:8.8.8.8"))


def test_one_bad_address_spoils_a_name():
    assert refusal([ip("8.8.8.8"), ip("127.0.0.1")], private=False) == FORBIDDEN
    assert refusal([ip("8.8.8.8"), ip("10.0.0.1")], private=False) == NEEDS_REGION
    assert refusal([ip("10.0.0.1"), ip("8.8.8.8")], private=True) == NO_REGION


def test_the_operators_own_networks_are_refused_in_every_form(settings):
    settings.PROBE_FORBIDDEN = [ipaddress.ip_network("203.0.114.0/24"), ipaddress.ip_network("2a01:4f8::/32")]
    assert is_forbidden(ip("203.0.114.9"))
    assert not is_forbidden(ip("203.0.115.9"))
    assert is_forbidden(ip("2a01:4f8::9"))
    for form in CARRIERS.values():
        assert is_forbidden(carried(form, "203.0.114.9"))


def test_an_operator_may_refuse_a_whole_translation(settings):
    settings.PROBE_FORBIDDEN = [ipaddress.ip_network("2002::/16"), ipaddress.ip_network("64:ff9b::/96")]
    assert is_forbidden(carried(CARRIERS["6to4"], "8.8.8.8"))
    assert is_forbidden(carried(CARRIERS["NAT64"], "8.8.8.8"))


def test_only_allowed_networks_are_exempt(settings):
    settings.PROBE_ALLOWED = [ipaddress.ip_network("127.0.0.0/8")]
    assert not is_forbidden(ip("127.0.0.1"))
    assert not is_forbidden(ip("::ffff:127.0.0.1"))
    assert is_forbidden(ip("::1"))
    assert is_forbidden(ip("169.254.169.254"))
    assert is_forbidden(ip("fe80::5efe:127.0.0.1")), "one of its forms is allowed, the other is not"
    assert is_forbidden(ip("0.0.0.0"))


def test_public_and_allowed_addresses_are_open(settings):
    settings.PROBE_ALLOWED = [ipaddress.ip_network("10.1.0.0/16"), ipaddress.ip_network("127.0.0.0/8")]
    for address in ("192.0.2.1", "2001:db8::1", "10.1.2.3", "::ffff:10.1.2.3", "127.0.0.1"):
        assert is_open(ip(address)), address
    for address in ("10.2.0.1", "::ffff:10.2.0.1", "192.168.0.1", "fd00::1", "169.254.169.254", "::1"):
        assert not is_open(ip(address)), address


@pytest.fixture
def plane(settings, monkeypatch):
    """Set addresses for our database and broker. A dictionary resolves names."""
    where: dict[str, str | None] = {"db.internal": "203.0.114.5", "redis.internal": "2a01:4f8::6"}

    def getaddrinfo(host, port):
        if where.get(host) is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (where[host], 0))]

    monkeypatch.setattr(guard.socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(guard, "_plane", {})
    monkeypatch.setitem(settings.DATABASES["default"], "HOST", "db.internal")
    settings.REDIS_URL = "rediss://:secret@redis.internal:6379/0"
    return where


def test_our_own_database_and_broker_are_refused(plane):
    assert is_forbidden(ip("203.0.114.5"))
    assert is_forbidden(ip("::ffff:203.0.114.5"))
    assert is_forbidden(ip("2a01:4f8::6"))
    assert not is_forbidden(ip("203.0.114.6"))


def test_a_server_that_could_not_be_found_is_looked_for_again(plane, monkeypatch):
    plane["db.internal"] = None
    assert not is_forbidden(ip("203.0.114.5"))
    plane["db.internal"] = "203.0.114.5"
    monkeypatch.setattr(guard, "PLANE_SECONDS", -1)
    assert is_forbidden(ip("203.0.114.5"))


def test_a_server_that_moved_is_refused_at_both_places(plane, monkeypatch):
    assert is_forbidden(ip("203.0.114.5"))
    monkeypatch.setattr(guard, "PLANE_SECONDS", -1)
    plane["db.internal"] = "203.0.114.77"
    assert is_forbidden(ip("203.0.114.77"))
    assert is_forbidden(ip("203.0.114.5"))
    plane["db.internal"] = None
    assert is_forbidden(ip("203.0.114.77"))


def test_several_database_hosts_are_all_ours_and_sockets_are_none(plane, settings, monkeypatch):
    plane["standby.internal"] = "203.0.114.8"
    monkeypatch.setitem(settings.DATABASES["default"], "HOST", "db.internal,standby.internal")
    assert is_forbidden(ip("203.0.114.8"))
    monkeypatch.setitem(settings.DATABASES["default"], "HOST", "/var/run/postgresql")
    settings.REDIS_URL = "unix:///run/redis.sock"
    assert not is_forbidden(ip("203.0.114.8"))


@pytest.mark.parametrize("option", ["host", "hostaddr"])
def test_a_database_that_is_named_among_the_options_is_ours(plane, settings, monkeypatch, option):
    """As in ``postgres:///name?host=a,b&port=1,2``, which names several hosts with ports of their own."""
    plane["203.0.114.9"] = "203.0.114.9"
    monkeypatch.setitem(settings.DATABASES["default"], "HOST", "")
    monkeypatch.setitem(settings.DATABASES["default"]["OPTIONS"], option, "db.internal,203.0.114.9")
    assert is_forbidden(ip("203.0.114.5"))
    assert is_forbidden(ip("203.0.114.9"))


def test_the_database_of_the_hypervisor_is_ours(plane, settings):
    plane["hypervisor.internal"] = "203.0.114.10"
    assert not is_forbidden(ip("203.0.114.10"))
    settings.DRIVER_CONNINFO = "host=hypervisor.internal dbname=machines"
    assert is_forbidden(ip("203.0.114.10"))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("EMAIL_HOST", "other.internal"),
        ("SMS_HTTP_URL", "https://other.internal/send"),
        ("SITE_URL", "http://other.internal:8000"),
        ("STREAM_URL", "http://other.internal:8001"),
        ("PROBE_NAMESERVERS", ["10.9.8.7@5353"]),
        ("OPENID", OpenID("https://other.internal/realm", "skerry", "secret")),
    ],
)
def test_other_servers_of_the_settings_are_ours_where_they_are_private(plane, settings, setting, value):
    plane["other.internal"] = plane["10.9.8.7"] = "10.9.8.7"
    assert not is_forbidden(ip("10.9.8.7"))
    setattr(settings, setting, value)
    assert is_forbidden(ip("10.9.8.7"))
    assert is_forbidden(ip("::ffff:10.9.8.7"))


def test_the_public_address_of_a_mail_server_stays_allowed(plane, settings):
    plane["smtp.example.net"] = "203.0.114.11"
    settings.EMAIL_HOST = "smtp.example.net"
    assert not is_forbidden(ip("203.0.114.11"))


def test_this_machine_is_refused_by_its_public_address(monkeypatch):
    card = [type("Entry", (), {"family": socket.AF_INET, "address": "198.51.100.77"})]
    monkeypatch.setattr(guard.psutil, "net_if_addrs", lambda: {"eth0": card})
    guard._this_machine.cache_clear()
    try:
        assert is_forbidden(ip("198.51.100.77"))
        assert not is_forbidden(ip("198.51.100.78"))
    finally:
        guard._this_machine.cache_clear()


def test_an_address_that_this_machine_gets_later_is_refused_too(plane, monkeypatch):
    assert not is_forbidden(ip("198.51.100.77"))
    card = [type("Entry", (), {"family": socket.AF_INET, "address": "198.51.100.77"})]
    monkeypatch.setattr(guard.psutil, "net_if_addrs", lambda: {"eth0": card})
    monkeypatch.setattr(guard, "PLANE_SECONDS", -1)
    try:
        assert is_forbidden(ip("198.51.100.77"))
    finally:
        guard._this_machine.cache_clear()


def test_a_loop_waits_for_no_look_up_once_something_is_known(plane, monkeypatch):
    """Neither for its own look-up nor for another thread's. All checks of the process would wait."""
    assert is_forbidden(ip("203.0.114.5"))
    monkeypatch.setattr(guard, "PLANE_SECONDS", -1)
    begun, answered = threading.Event(), threading.Event()

    def slow(host: str) -> set[guard.Address]:
        begun.set()
        answered.wait(300)
        return set()

    monkeypatch.setattr(guard, "_resolve", slow)
    looker = threading.Thread(target=guard.control_plane)
    looker.start()
    assert begun.wait(300)

    async def ask() -> bool:
        return is_forbidden(ip("203.0.114.5"))

    assert asyncio.run(ask())
    assert looker.is_alive()
    answered.set()
    looker.join()


@given(st.ip_addresses(v=4))
def test_no_ipv4_address_is_freed_by_a_form_that_carries_it(address):
    for form in CARRIERS.values():
        wrapped = carried(form, str(address))
        assert not is_forbidden(address) or is_forbidden(wrapped)
        assert not is_private(address) or is_private(wrapped)


@given(st.ip_addresses(v=6))
def test_every_ipv6_address_gets_an_answer(address):
    assert refusal([address], private=False) in (None, FORBIDDEN, NEEDS_REGION)
    if not address.is_global and not is_private(address):
        in_use = (
            "2001::/23",
            "2001:db8::/32",
            "2002::/16",
            "3fff::/20",
            "::/96",
            "::ffff:0:0/96",
            "::ffff:0:0:0/96",
        )
        assert is_forbidden(address) or any(address in ipaddress.ip_network(text) for text in in_use)
