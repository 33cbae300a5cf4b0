"""Valid addresses, and how they are parsed: two parsers of one address must not find two hosts."""

from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from yarl import URL

from config.egress import guard, resolver
from config.errors import Invalid
from managed.services.targets import MAX_ADDRESS_LENGTH, PORTS, normalised, parse

GOOD = [
    ("url", "http://example.com", "example.com", 80, "http://example.com"),
    ("url", "https://example.com/", "example.com", 443, "https://example.com/"),
    ("url", "HTTPS://Example.COM/A?B=c", "example.com", 443, "https://example.com/A?B=c"),
    ("url", "http://example.com:8080/a", "example.com", 8080, "http://example.com:8080/a"),
    ("url", "http://example.com/a?b=1&c=2#top", "example.com", 80, "http://example.com/a?b=1&c=2"),
    ("url", "http://example.com#top", "example.com", 80, "http://example.com"),
    ("url", "http://example.com?q", "example.com", 80, "http://example.com?q"),
    ("url", "  http://example.com/  ", "example.com", 80, "http://example.com/"),
    ("url", "http://example.com./", "example.com.", 80, "http://example.com./"),
    ("url", "http://xn--bcher-kva.example/", "xn--bcher-kva.example", 80, "http://xn--bcher-kva.example/"),
    ("url", "http://Bücher.example/", "xn--bcher-kva.example", 80, "http://xn--bcher-kva.example/"),
    (
        "url",
        " https://bu\u0308cher.example:81?q",
        "xn--bcher-kva.example",
        81,
        "https://xn--bcher-kva.example:81?q",
    ),
    ("url", "http://my_host.example/", "my_host.example", 80, "http://my_host.example/"),
    ("url", "http://8.8.8.8/", "8.8.8.8", 80, "http://8.8.8.8/"),
    ("url", "http://[2001:DB8:0::1]:81/", "2001:db8::1", 81, "http://[2001:db8::1]:81/"),
    ("url", "http://example.com:/", "example.com", 80, "http://example.com/"),
    ("url", "http://example.com/a%20b?c=%0d%0a", "example.com", 80, "http://example.com/a%20b?c=%0d%0a"),
    ("tcp", "example.com:22", "example.com", 22, None),
    ("tcp", "tcp://example.com:22", "example.com", 22, None),
    ("tcp", "bücher.example:22", "xn--bcher-kva.example", 22, None),
    ("tcp", "tcp://bücher.example:22", "xn--bcher-kva.example", 22, None),
    ("tcp", "tcp://example.com:22/", "example.com", 22, None),
    ("tcp", "8.8.8.8:53", "8.8.8.8", 53, None),
    ("tcp", "[2001:db8::1]:53", "2001:db8::1", 53, None),
    ("tcp", "tcp://[2001:db8::1]:65535", "2001:db8::1", 65535, None),
]
OTHER_SPELLINGS = (
    "2130706433", "017700000001", "0x7f000001", "0x7F000001", "127.1", "127.0.1", "0177.0.0.1", "0x7f.0.0.1",
    "0x7f.1", "127.0.0.01", "0127.0.0.1", "127.000.000.001", "1.1.1.1.1", "256.1.1.1", "127.0.0.1.", "127.1.",
    "0x7f", "0x", "1", "0",
)  # fmt: skip
NO_HOSTS = (
    "", ".", "..", "example..com", ".example.com", "example.com..", "-a.example", "a-.example", "exam ple.com",
    "example.com%2f", "%31%32%37.0.0.1", "127.0.0.1%00.example.com", "a" * 64 + ".example", "a." * 130 + "a",
    "example.com\\@127.0.0.1", "127.0.0.1\\.example.com", "exa\tmple.com", "example.com\r\nX-A: b",
    "example.com\x00", "example.com\x7f", "exä_mple.com", "exämple-.com", f"{'ä' * 60}.com",
    "\u212aelvin.example", "ⓛocalhost", "127。0。0。1", "127．0．0．1", "①②⑦.0.0.1",
    "１２７.0.0.1", "example.com\u2028", "example.com\u202e", "loc\u00adalhost", "a!b.example", "a*.example",
    "[::1", "::1]", "[::1]x", "[::1].example.com", "x[::1]", "[v1.a]", "[127.0.0.1]", "[fe80::1%eth0]",
    "[::1%25lo]", "[example.com]", "[]", "[:::1]", "[::1]]", "[[::1]]", "[::g]", "$host",
)  # fmt: skip


@pytest.mark.parametrize(("kind", "address", "host", "port", "url"), GOOD)
def test_reads_host_and_port(kind, address, host, port, url):
    target = parse(kind, address)
    assert (target.host, target.port, target.url) == (host, port, url)


@pytest.mark.parametrize("host", [*OTHER_SPELLINGS, *NO_HOSTS])
def test_refuses_values_that_are_neither_a_name_nor_a_plain_address(host):
    for kind, address in (("url", f"http://{host}/"), ("tcp", f"{host}:80"), ("tcp", f"tcp://{host}:80")):
        with pytest.raises(Invalid) as refused:
            parse(kind, address)
        assert [problem.field for problem in refused.value.problems] == ["address"]


@pytest.mark.parametrize(
    "address",
    [
        "ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "javascript:alert(1)", "example.com",
        "//example.com/", "http:example.com", "http:/example.com", "http:///example.com", "http://", "tcp://a:80",
        "dict://example.com:11211/", "unix:///run/a.sock", "data:text/plain,a", "ws://example.com/",
        "http ://example.com", "http\t://example.com", "\x01http://example.com/", "h\nttp://example.com",
        "http://a.example http://b.example", "http://example.com/a b", "http://example.com/a\r\nHost: b",
        "http://example.com\n", "http://example.com/ä", "http://example.com/?q=ä",
    ],
)  # fmt: skip
def test_refuses_other_schemes_and_invalid_urls(address):
    with pytest.raises(Invalid):
        parse("url", address)


@pytest.mark.parametrize(
    "address",
    ["http://example.com:22", "udp://a:53", "example.com", "tcp://example.com", "example.com:", "a:1/path", "a:1?q",
     "a:1#f", ":80", "::1:80", "2001:db8::1:80", "tcp://tcp://a:1", "a:1:2"],
)  # fmt: skip
def test_tcp_is_a_host_and_a_port_and_nothing_else(address):
    with pytest.raises(Invalid):
        parse("tcp", address)


@pytest.mark.parametrize(
    "port", ["0", "65536", "99999999999999999999", "-1", "+80", "8_0", "8o", "0x50", "８０", "80.0"]
)
def test_refuses_ports_that_are_none(port):
    for kind, address in (("url", f"http://example.com:{port}/"), ("tcp", f"example.com:{port}")):
        with pytest.raises(Invalid):
            parse(kind, address)


@pytest.mark.parametrize(
    "address",
    ["http://user@example.com/", "http://user:secret@example.com/", "http://@example.com/", "http://:@example.com/",
     "http://example.com@127.0.0.1/", "http://127.0.0.1:80@example.com/", "http://a@b@example.com/"],
)  # fmt: skip
def test_refuses_names_and_passwords_which_everybody_would_read(address):
    with pytest.raises(Invalid) as refused:
        parse("url", address)
    assert "credentials" in refused.value.problems[0].reason


def test_a_host_after_a_hash_or_question_mark_is_none():
    assert parse("url", "http://example.com#@127.0.0.1/").host == "example.com"
    assert parse("url", "http://example.com?@127.0.0.1/").host == "example.com"
    assert parse("url", "http://example.com/@127.0.0.1/").host == "example.com"


def test_keeps_a_hundred_characters():
    assert normalised("url", "http://example.com/" + "a" * 81).count("a") == 82
    assert len(normalised("url", "http://example.com/" + "a" * 81 + "#" + "b" * 50)) == MAX_ADDRESS_LENGTH
    with pytest.raises(Invalid):
        normalised("url", "http://example.com/" + "a" * 82)
    with pytest.raises(Invalid):
        normalised("tcp", "a" * 50 + "." + "b" * 50 + ":80")


def test_tcp_is_kept_as_it_was_written():
    assert normalised("tcp", " tcp://Example.com:22 ") == "tcp://Example.com:22"


def test_tcp_keeps_a_name_in_unicode_as_punycode():
    assert normalised("tcp", " tcp://Bücher.Example:22 ") == "tcp://xn--bcher-kva.Example:22"
    with pytest.raises(Invalid):
        normalised("tcp", "ü" * 20 + "." + "ü" * 20 + "." + "ü" * 20 + "." + "ü" * 20 + ".example:22")


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST", "localhost.", "a.localhost", "a.b.LocalHost."])
def test_localhost_is_resolved_without_name_servers(name, settings):
    settings.PROBE_NAMESERVERS = ["192.0.2.1"]
    settings.PROBE_DNS_TIMEOUT = 0.1
    found = resolver.resolve(parse("url", f"http://{name}/").host)
    assert guard.refusal(found, private=False) == guard.FORBIDDEN
    assert guard.refusal(found, private=True) == guard.FORBIDDEN


PIECES = st.sampled_from(
    ["http://", "https://", "tcp://", "//", "/", "\\", "@", ":", "[", "]", "::1", "127.0.0.1", "example.com", "%",
     "%25", "#", "?", ".", "。", "\t", "\r\n", " ", "\x00", "ä", "bücher", "0x7f", "80",
     "65536", "xn--", "-", "_", "\ud800"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(PIECES, max_size=9).map("".join)))
@example("http://[::1].evil.example/")
@example("http://\ud800/")
def test_never_crashes_and_all_readers_agree_on_the_host(address):
    for kind in ("url", "tcp"):
        try:
            target = parse(kind, address)
            normalised(kind, address)
        except Invalid:
            continue
        assert 0 < target.port < 65536
        assert target.host.isascii()
        assert not set(target.host) & set("@/\\?#[]% \t\r\n\0")
        if target.url is not None:
            assert parse(kind, target.url) == target, "what is kept reads like what was given"
            url = URL(target.url, encoded=True)
            assert (url.raw_host, url.port) == (target.host, target.port)
            assert urlsplit(target.url).scheme in PORTS
