"""Checks of real servers, good and bad, and the addresses that a check never connects to."""

import asyncio
import gzip
import ipaddress
import time
import zlib
from datetime import UTC, datetime

import psutil
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from config.egress import resolver
from managed.prober import checks, tls
from managed.prober.checks import Stalled, check
from managed.prober.text import PREFIX_BYTES, Search, charset_of, codec
from managed.services.probing import Outcome, Probe
from tests.managed import servers
from tests.managed.servers import (
    Authority,
    Server,
    answer,
    drip,
    raw,
    redirect,
    silence,
    silent_server,
)
from tests.ports import free_port

LONG_SECONDS = 120
"""Seconds for events that take a moment, even on a busy machine."""
OK = b"HTTP/1.1 200 OK\r\n"
NO_ANSWER = "there was no answer within 1 s"
CLOSED = "it closed the connection before the end of the answer"
NO_HTTP = "the answer is not HTTP"
NO_TEXT = "the text was not in the answer"
ENDLESS = "its answer does not end"
INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
REFUSED = "it resolves or redirects to an address that the platform does not check"


@pytest.fixture(autouse=True)
def _checks_this_machine(settings, monkeypatch):
    """Allow checks of this machine, and ignore how slow the machine is at present."""
    settings.PROBE_ALLOWED = [ipaddress.ip_network("127.0.0.0/8")]
    monkeypatch.setattr(checks, "LATE_SECONDS", 600.0)


@pytest.fixture
def authority(tmp_path, monkeypatch):
    """An authority that checks trust."""
    made = Authority(tmp_path)
    monkeypatch.setattr(tls, "shared_context", lambda: tls.make_context(made.path))
    return made


def ask(
    address: str, body: str = "", timeout: int = LONG_SECONDS, kind: str = "url", private: bool = False
) -> Outcome:
    return asyncio.run(check(Probe(1, 1, 1, datetime.now(UTC), kind, address, body, timeout, private)))


def ask_tcp(address: str, **options) -> Outcome:
    return ask(address, kind="tcp", **options)


def ask_of(behave: servers.Behaviour, body: str = "", timeout: int = LONG_SECONDS) -> Outcome:
    with Server(behave) as server:
        return ask(server.url, body, timeout)


# --- status -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["200 OK", "204 No Content", "206 Partial", "304 Not Modified", "399 Odd"])
def test_a_service_that_answers_below_400_is_up(status):
    outcome = ask_of(answer(b"", status))
    assert outcome.up
    assert 0 < outcome.milliseconds < LONG_SECONDS * 1000


@pytest.mark.parametrize("status", ["400 Bad Request", "401 Unauthorized", "404 Not Found", "500 Oops", "503 Busy"])
def test_a_service_that_answers_otherwise_is_down(status):
    assert ask_of(answer(b"hello", status), "hello").error == f"it answered {status[:3]}"


def test_a_request_says_who_asks_and_names_the_host_and_carries_no_cookies():
    with Server(answer(b"", "200 OK", "Set-Cookie: a=b")) as server:
        ask(server.url + "path?query=1#fragment")
        ask(server.url)
    assert server.seen[0] == "GET /path?query=1 HTTP/1.1"
    assert f"Host: 127.0.0.1:{server.port}\r\n" in server.requests[0]
    assert "User-Agent: Skerry-Managed" in server.requests[0]
    assert "Cookie" not in server.requests[1]


def test_a_redirect_that_leads_nowhere_is_an_answer():
    assert ask_of(answer(b"hello", "302 Found"), "hello").up


# --- the text ---------------------------------------------------------------------------------------------------


def test_the_text_is_found():
    assert ask_of(answer(b"<p>All systems go</p>"), "systems go").up


def test_the_text_is_not_found():
    assert ask_of(answer(b"<p>Error establishing a database connection</p>"), "systems go").error == NO_TEXT


def test_the_text_is_looked_for_in_the_beginning_alone():
    text = b"needle"
    assert ask_of(answer(b"x" * (PREFIX_BYTES - len(text)) + text), "needle").up
    assert ask_of(answer(b"x" * (PREFIX_BYTES - len(text) + 1) + text), "needle").error == NO_TEXT


def test_the_text_is_found_where_it_comes_in_pieces():
    pieces = (b"%x\r\n%s\r\n" % (1, bytes([byte])) for byte in b"a needle in it")
    chunked = OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(pieces) + b"0\r\n\r\n"
    assert ask_of(raw(chunked), "needle").up


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [("ISO-8859-1", "latin-1"), ("windows-1251", "cp1251"), ("Shift_JIS", "shift_jis"), ("utf-16", "utf-16"),
     ("utf-8", "utf-8"), ('"UTF-8"', "utf-8"), ("nobody-knows", "utf-8"), ("", "utf-8")],
)  # fmt: skip
def test_the_text_is_read_in_the_charset_of_the_answer(charset, encoding):
    text = {"latin-1": "Größe", "cp1251": "Работает", "shift_jis": "動作中"}.get(encoding, "Größe 動作中")
    page = f"<p>{text}</p>".encode(encoding)
    assert ask_of(answer(page, "200 OK", f"Content-Type: text/html; charset={charset}"), text).up


@pytest.mark.parametrize(
    "charset", ["base64", "zlib", "bz2", "hex", "punycode", "idna", "unicode_escape", "undefined"]
)
def test_a_charset_that_is_none_of_the_web_is_read_as_utf8(charset):
    assert codec(charset) == "utf_8"
    page = answer("Größe".encode(), "200 OK", f"Content-Type: text/html; charset={charset}")
    assert ask_of(page, "Größe").up


@pytest.mark.parametrize(
    ("header", "charset"),
    [
        ("text/html; charset=iso-8859-1", "iso-8859-1"),
        ('text/html;version=2;CharSet = "utf-16" ; a=b', "utf-16"),
        ("text/html;charset='big5'", "big5"),
        ("text/html; charset=", ""),
        ("text/html; acharset=big5", ""),
        ("text/html", ""),
        ("charset=big5", ""),
        ("", ""),
        ("text/html; charset=" + "x" * 1000, ""),
    ],
)
def test_the_charset_is_read_from_the_header(header, charset):
    assert charset_of(header) == charset


@pytest.mark.parametrize("piece", [";", "a=b; ", 'a="\\"', "a*0*=utf-8''%41;", ";charset", '; charset="', " ;"])
def test_a_header_that_is_meant_to_take_long_to_read_does_not(piece):
    """Python's own reader takes a minute for a header of 60 KB. No other check proceeds meanwhile."""
    stopwatch, content_type = time.process_time(), "text/html" + piece * (60_000 // len(piece))
    assert ask_of(answer(b"needle", "200 OK", f"Content-Type: {content_type}"), "needle").up
    assert time.process_time() - stopwatch < 1


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("charset", ["utf-16", "utf-32"])
def test_without_a_byte_order_mark_it_is_little_endian(charset, size):
    """As browsers read it."""
    content, search = "a needle".encode(f"{charset}-le"), Search("needle", charset, "")
    assert any(search.feed(content[start : start + size]) for start in range(0, len(content), size))


def test_broken_characters_spoil_nothing_but_themselves():
    assert ask_of(answer(b"\xff\xfe\x80 needle \xc3"), "needle").up


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_an_answer_that_is_compressed_all_the_same_is_unpacked(encoding, pack):
    packed = answer(pack(b"x" * 200_000 + b"needle"), "200 OK", f"Content-Encoding: {encoding}")
    assert ask_of(packed, "needle").up


def test_a_large_compressed_answer_is_unpacked_to_the_limit():
    bomb = gzip.compress(b"\0" * 64 * PREFIX_BYTES + b"needle")
    assert ask_of(answer(bomb, "200 OK", "Content-Encoding: gzip"), "needle").error == NO_TEXT
    search = Search("needle", "", "gzip")
    assert search.feed(bomb) is False
    assert search.ended


def test_an_answer_that_cannot_be_decompressed_is_reported():
    brotli = answer(b"\x0b\x02\x80needle\x03", "200 OK", "Content-Encoding: br")
    assert "unknown compression" in ask_of(brotli, "needle").error
    assert (
        "could not be decompressed" in ask_of(answer(b"needle", "200 OK", "Content-Encoding: gzip"), "needle").error
    )


@given(st.text(min_size=1, max_size=8), st.text(max_size=40), st.integers(1, 7))
def test_a_text_is_found_exactly_where_it_is_however_it_is_cut(wanted, around, size):
    for page in (around + wanted + around, around):
        raw_page = page.encode("utf-8", "replace")
        search = Search(wanted.encode("utf-8", "replace").decode(), "utf-8", "")
        pieces = [raw_page[at : at + size] for at in range(0, len(raw_page), size)]
        found = [search.feed(piece) for piece in pieces]
        assert any(found) is (search._text in raw_page.decode())


# --- slow, endless, broken --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "behave",
    [
        silence(),
        drip(b"HTTP/1.1 200 O", b"K", 0.2),
        drip(OK, b"X-A: b\r\n", 0.2),
        drip(OK + b"Content-Length: 1000\r\n\r\n", b"x", 0.2),
        drip(b"HTTP/1.1 102 Processing\r\n\r\n", b"HTTP/1.1 102 Processing\r\n\r\n", 0.2),
        drip(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", 0.2),
    ],
    ids=["silent", "status line", "headers", "body", "interim answers", "chunks"],
)
def test_the_timeout_is_that_of_the_whole_exchange(behave):
    begun = time.monotonic()
    assert ask_of(behave, "needle", timeout=1).error == NO_ANSWER
    assert time.monotonic() - begun < 60, "they go on for minutes"


def test_slow_redirects_share_one_timeout():
    def late(connection):
        time.sleep(0.4)
        redirect("/again")(connection)

    assert ask_of(late, timeout=1).error == NO_ANSWER


def test_a_body_nobody_asked_for_is_not_waited_for():
    assert ask_of(drip(OK + b"Content-Length: 1000\r\n\r\n", b"x", 0.2)).up


def test_a_check_ends_when_the_text_is_found():
    assert ask_of(drip(OK + b"Content-Length: 1000\r\n\r\na needle", b"x", 0.2), "needle").up


def test_an_endless_body_is_read_to_the_bound():
    endless = drip(OK + b"\r\n", b"x" * 65536, 0, most=1_000_000)
    assert ask_of(endless, "needle").error == NO_TEXT
    assert ask_of(endless).up


@pytest.mark.parametrize("line", [b"X-A: b\r\n", b"X-A: " + b"b" * 30_000 + b"\r\n", b"x" * 65536])
def test_endless_headers_are_not_read_for_ever(line):
    assert ask_of(drip(OK, line, 0, most=1_000_000)).error in (NO_HTTP, ENDLESS)


@pytest.mark.parametrize(
    ("first", "then"),
    [(b"", INTERIM * 1000), (b"", b"\r\n" * 30_000), (CHUNKED + b"5", b";a=b" * 15_000)],
    ids=["interim answers", "empty lines", "extensions of a chunk"],
)
def test_endless_answers_without_content_are_ended(first, then):
    """Reading on would keep the event loop from other checks."""
    assert ask_of(drip(first, then, 0, most=1_000_000), "needle").error == ENDLESS


def test_a_few_interim_answers_are_passed_over():
    assert ask_of(raw(INTERIM * 5 + OK + b"Content-Length: 6\r\n\r\nneedle"), "needle").up


def test_a_text_is_found_however_small_the_chunks_before_it_are():
    chunks = b"1\r\na\r\n" * (PREFIX_BYTES - 10) + b"6\r\nneedle\r\n0\r\n\r\n"
    assert ask_of(raw(CHUNKED + chunks), "needle").up


def test_headers_of_megabytes_are_not_kept():
    """A server sends such headers and falls silent. Hundreds of checks would hold them until the timeout."""
    headers = [f"X-{n}: {'b' * 60_000}" for n in range(20)]
    assert ask_of(answer(b"hello", "200 OK", *headers)).error == ENDLESS


def test_headers_of_real_sites_are_long():
    assert ask_of(answer(b"", "200 OK", "Content-Security-Policy: " + "a" * 30_000)).up


@pytest.mark.parametrize(
    ("behave", "error"),
    [
        (raw(b""), CLOSED),
        (raw(b"HTTP/1.1 200"), CLOSED),
        (raw(OK), CLOSED),
        (raw(OK + b"Content-Length: 100\r\n\r\nonly this"), CLOSED),
        (raw(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhe"), CLOSED),
        (servers.reset, CLOSED),
        (raw(b"SSH-2.0-OpenSSH_9.2\r\n"), NO_HTTP),
        (raw(b"220 mail.example.com ESMTP\r\n"), NO_HTTP),
        (raw(b"HTTP/1.1 abc Odd\r\n\r\n"), NO_HTTP),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n"), NO_HTTP),
        (raw(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n"), NO_HTTP),
        (raw(b"\x15\x03\x01\x00\x02\x02\x46"), NO_HTTP),
    ],
)
def test_half_answers_and_other_protocols_are_down(behave, error):
    assert ask_of(behave, "needle").error in (error, CLOSED)


def test_a_reset_amid_the_body_is_down():
    def behave(connection):
        connection.sendall(OK + b"Content-Length: 100\r\n\r\nhalf")
        time.sleep(0.1)
        servers.reset(connection)

    assert ask_of(behave, "needle").error == CLOSED


PIECES = st.sampled_from(
    [OK, b"HTTP/1.0 302 Found\r\n", b"Location: ", b"http://127.0.0.1:1/", b"//[::1", b"\r\n", b"\r\n\r\n",
     b"utf-16",
     b"Transfer-Encoding: chunked\r\n", b"Content-Encoding: gzip\r\n", b"Content-Length: 4\r\n", b"ffffffff\r\n",
     b"Content-Type: text/html; charset=", b"\xc3\xa4\x80", b"\x00", b"0\r\n\r\n", b"HTTP/1.1 "]
)  # fmt: skip


@hypothesis_settings(max_examples=150)
@given(st.lists(st.one_of(PIECES, st.binary(max_size=20)), max_size=8).map(b"".join))
def test_nothing_that_a_server_says_raises(content):
    assert isinstance(ask_of(raw(content), "needle"), Outcome)


def test_nobody_listens():
    port = free_port()
    assert ask(f"http://127.0.0.1:{port}/").error == "the connection failed: connection refused"
    assert ask_tcp(f"127.0.0.1:{port}").error == "the connection failed: connection refused"


def test_a_server_that_takes_no_more_connections_is_down():
    with silent_server() as port:
        assert ask(f"http://127.0.0.1:{port}/", timeout=1).error == NO_ANSWER
        assert ask_tcp(f"tcp://127.0.0.1:{port}", timeout=1).error == NO_ANSWER


def test_tcp_needs_a_connection_and_no_answer():
    with Server(silence()) as server:
        assert ask_tcp(f"tcp://127.0.0.1:{server.port}").up
        assert ask_tcp(f"127.0.0.1:{server.port}").up


def test_a_timeout_that_this_process_slept_through_is_not_the_services(monkeypatch):
    async def sleepy(probe):
        await asyncio.sleep(0)
        time.sleep(1.2)  # the loop hangs, as on a machine that was suspended
        await asyncio.sleep(LONG_SECONDS)

    monkeypatch.setattr(checks, "_ask_tcp", sleepy)
    monkeypatch.setattr(checks, "LATE_SECONDS", 0.1)
    with pytest.raises(Stalled):
        ask_tcp("127.0.0.1:1", timeout=1)


def test_checks_leave_no_file_open_and_nothing_running(authority, dns):
    """After any end. The process that runs checks lives for months."""
    dns.names |= {"up.example": ["127.0.0.1"], "silent.example": None}
    process = psutil.Process()

    async def check_all(probes: list[Probe]) -> None:
        await asyncio.gather(*map(check, probes))
        deadline = time.monotonic() + LONG_SECONDS
        while len(asyncio.all_tasks()) > 1:
            assert time.monotonic() < deadline, f"{asyncio.all_tasks()} still run"
            await asyncio.sleep(0.05)

    with (
        Server(answer(b"needle")) as quick,
        Server(silence()) as silent,
        Server(servers.reset) as broken,
        Server(drip(OK + b"\r\n", b"x" * 65536, 0, most=1_000_000)) as endless,
        Server(answer(b"needle"), context=authority.server("127.0.0.1")) as secure,
        Server(answer(), context=authority.server("other.example")) as insecure,
        Server(silence(), reads=False) as no_tls,
        Server(redirect("/again")) as circle,
    ):
        addresses = [each.url for each in (quick, silent, broken, endless, secure, insecure, circle)] + [
            f"https://127.0.0.1:{no_tls.port}/", f"http://up.example:{quick.port}/", "http://silent.example/",
            "http://nowhere.example/", f"http://127.0.0.1:{free_port()}/",
        ]  # fmt: skip
        probes = [Probe(1, 1, 1, datetime.now(UTC), "url", address, "needle", 1, False) for address in addresses]
        asyncio.run(check_all(probes[:1]))
        before = process.num_fds()
        asyncio.run(check_all(probes * 4))
        deadline = time.monotonic() + LONG_SECONDS
        while process.num_fds() > before:  # the servers in this process close their connections too
            assert time.monotonic() < deadline
            time.sleep(0.05)


# --- redirects --------------------------------------------------------------------------------------------------


def chain(length: int) -> servers.Behaviour:
    """Return a server's behaviour: `length` redirects to itself, and then an answer."""
    left = [length]

    def behave(connection):
        left[0] -= 1
        (redirect(f"/{left[0]}") if left[0] >= 0 else answer(b"needle"))(connection)

    return behave


def test_five_redirects_are_followed_and_six_are_not():
    assert ask_of(chain(5), "needle").up
    assert ask_of(chain(6), "needle").error == "it redirects more than 5 times"


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 Other", "307 Temporary", "308 Permanent"])
def test_each_kind_of_redirect_is_followed_with_its_query_and_without_its_fragment(status):
    with Server(answer(b"needle")) as there, Server(redirect(f"{there.url}a?b=c#d", status)) as here:
        assert ask(here.url, "needle").up
    assert there.seen == ["GET /a?b=c HTTP/1.1"]


@pytest.mark.parametrize(
    ("where", "asked"),
    [("next", "/dir/next"), ("/next", "/next"), ("?a=b", "/dir/page?a=b"), ("../up", "/up"), ("/a b", "/a%20b"),
     ("/\xc3\xa4", "/%C3%A4"), ("/a\tb", "/a%09b"), ("/%zz", "/%zz")],
)  # fmt: skip
def test_relative_and_unencoded_redirects_are_followed(where, asked):
    def behave(connection):
        (answer(b"") if len(server.seen) > 1 else redirect(where))(connection)

    with Server(behave) as server:
        assert ask(f"{server.url}dir/page").up
    assert server.seen[1] == f"GET {asked} HTTP/1.1"


@pytest.mark.parametrize(
    ("where", "error"),
    [
        ("http://169.254.169.254/latest/meta-data/", REFUSED),
        ("http://[::1]:{port}/", REFUSED),
        ("http://[::]:{port}/", REFUSED),
        ("http://0.0.0.0:{port}/", REFUSED),
        ("http://localhost.:{port}/", None),
        ("//[::ffff:169.254.169.254]/", REFUSED),
        ("http://10.0.0.1/", "it resolves or redirects to a private address, but has no region"),
        ("ftp://127.0.0.1:{port}/", "it redirects to an address that is not valid"),
        ("file:///etc/passwd", "it redirects to an address that is not valid"),
        ("javascript:alert(1)", "it redirects to an address that is not valid"),
        ("http://[", "it redirects to an address that is not valid"),
        ("http://2130706433:{port}/", "it redirects to an address that is not valid"),
        ("http://0x7f.1:{port}/", "it redirects to an address that is not valid"),
        ("http://127.0.0.1:{port}\\@example.com/", "it redirects to an address that is not valid"),
        ("http://example.com@127.0.0.1:{port}/", "it redirects to an address that is not valid"),
        ("http://ex\xc3\xa4mple.com/", "it redirects to an address that is not valid"),
        ("http://127.0.0.1:99999/", "it redirects to an address that is not valid"),
    ],
)
def test_redirects_follow_the_rules_of_addresses(where, error):
    with Server(answer()) as there, Server(redirect(where.format(port=there.port))) as here:
        outcome = ask(here.url)
    if error is None:  # the setting allows localhost
        assert outcome.up
    else:
        assert outcome.error == error
        assert there.connections == 0


def test_a_service_with_a_region_must_stay_private():
    with Server(answer()) as server:
        expected = "it has a region, but resolves or redirects to an address that is not private"
        assert ask(server.url, private=True).error == expected
        assert ask_tcp(f"127.0.0.1:{server.port}", private=True).error == expected
    assert server.connections == 0


# --- names ------------------------------------------------------------------------------------------------------


def test_a_name_is_looked_up_and_named_to_its_server(dns):
    dns.names["www.example.com"] = ["127.0.0.1"]
    with Server(answer(b"needle")) as server:
        assert ask(f"http://www.example.com:{server.port}/", "needle").up
        assert ask_tcp(f"www.example.com:{server.port}").up
    assert f"Host: www.example.com:{server.port}\r\n" in server.requests[0]


def test_an_international_name_is_checked(dns):
    dns.names["xn--bcher-kva.example"] = ["127.0.0.1"]
    with Server(answer()) as server:
        assert ask(f"http://xn--bcher-kva.example:{server.port}/").up
        assert ask(f"http://xn--bcher-kva.example.:{server.port}/").up


def test_no_search_domain_is_tried(dns):
    ask("http://intranet/")
    assert {name for name, _ in dns.asked} == {"intranet"}


def test_a_name_that_stands_for_nothing_is_down(dns):
    dns.names["empty.example"] = []
    for name in ("nowhere.example", "empty.example"):
        assert ask(f"http://{name}/").error == f"the name {name} was not found"
        assert ask_tcp(f"{name}:80").error == f"the name {name} was not found"


def test_a_name_server_that_says_nothing_is_not_waited_for_long(dns, settings):
    settings.PROBE_DNS_TIMEOUT = 0.5
    dns.names["slow.example"] = None
    assert ask("http://slow.example/").error == "no name server answered for slow.example"


def test_a_name_server_that_knows_nothing_of_ipv6_is_no_reason_to_be_down(dns, settings, monkeypatch):
    settings.PROBE_DNS_TIMEOUT = 600
    monkeypatch.setattr(resolver, "GRACE_SECONDS", 0.5)
    dns.names |= {"silent.example": ["127.0.0.1"], "broken.example": ["127.0.0.1"]}
    dns.silent.add(("silent.example", "AAAA"))
    dns.broken.add(("broken.example", "AAAA"))
    with Server(answer()) as server:
        assert ask(f"http://silent.example:{server.port}/").up
        assert ask(f"http://broken.example:{server.port}/").up


def test_no_name_server_at_all(settings):
    settings.PROBE_NAMESERVERS = [f"127.0.0.1@{free_port()}"]
    settings.PROBE_DNS_TIMEOUT = 0.5
    assert not ask("http://www.example.com/").up


def test_a_name_that_stands_for_something_else_a_moment_later_changes_nothing(dns, settings):
    """Between look-up and connection, the name moves to an address where nothing answers."""
    settings.PROBE_ALLOWED = [ipaddress.ip_network("127.0.0.9/32")]
    dns.names["rebind.example"] = [["127.0.0.9"], ["127.0.0.1"]]
    with Server(answer()) as server:
        assert ask(f"http://rebind.example:{server.port}/").error.endswith("connection refused")
        assert dns.asked.count(("rebind.example", "A")) == 1, "one look-up for one connection"
        assert ask(f"http://rebind.example:{server.port}/").error == REFUSED
        assert ask_tcp(f"rebind.example:{server.port}").error == REFUSED
    assert server.connections == 0


def test_a_redirect_to_the_same_name_looks_it_up_and_judges_it_anew(dns, settings):
    settings.PROBE_ALLOWED = [ipaddress.ip_network("127.0.0.1/32")]
    dns.names["rebind.example"] = [["127.0.0.1"], ["127.0.0.2"]]
    with Server(redirect("/again")) as server:
        assert ask(f"http://rebind.example:{server.port}/").error == REFUSED
    assert server.connections == 1


@pytest.mark.parametrize(
    "addresses", [["127.0.0.1", "169.254.169.254"], ["127.0.0.1", "::1"], ["127.0.0.1", "64:ff9b::169.254.169.254"]]
)
def test_one_forbidden_address_spoils_a_name(dns, addresses):
    dns.names["mixed.example"] = addresses
    with Server(answer()) as server:
        assert ask(f"http://mixed.example:{server.port}/").error == REFUSED
        assert ask_tcp(f"mixed.example:{server.port}").error == REFUSED
    assert server.connections == 0


def test_a_dead_address_next_to_a_good_one_does_no_harm(dns):
    dns.names["half.example"] = ["127.0.0.9", "127.0.0.1"]
    with Server(answer()) as server:
        assert ask(f"http://half.example:{server.port}/").up
        assert ask_tcp(f"half.example:{server.port}").up


def test_a_name_with_thousands_of_addresses_is_not_read(dns):
    """Reading it takes a good part of a second. No other check of the process proceeds meanwhile."""
    dns.names["huge.example"] = [str(ipaddress.ip_address("127.1.0.0") + n) for n in range(3500)]
    with Server(answer()) as server:
        assert ask(f"http://huge.example:{server.port}/").error == "no name server answered for huge.example"


def test_only_a_few_addresses_of_a_name_are_tried(dns, monkeypatch):
    dns.names["many.example"] = [f"127.0.1.{n}" for n in range(1, 200)]
    tried = []

    class Connector(checks.Connector):
        async def _create_direct_connection(self, *args, **kwargs):
            tried.extend(await self._resolver.resolve("", 0))
            return await super()._create_direct_connection(*args, **kwargs)

    monkeypatch.setattr(checks, "Connector", Connector)
    assert not ask(f"http://many.example:{free_port()}/").up
    assert 0 < len(tried) <= checks.MAX_ADDRESSES


# --- TLS --------------------------------------------------------------------------------------------------------


def test_a_good_certificate_is_up(authority, dns):
    dns.names["secure.example"] = ["127.0.0.1"]
    with Server(answer(b"needle"), context=authority.server("secure.example")) as server:
        assert ask(f"https://secure.example:{server.port}/", "needle").up
        assert ask(f"https://secure.example.:{server.port}/", "needle").up
    with Server(answer(b"needle"), context=authority.server("127.0.0.1")) as server:
        assert ask(server.url, "needle").up


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("secure.example", {"self_signed": True}, "self-signed certificate"),
        ("secure.example", {"expired": True}, "certificate has expired"),
        ("other.example", {}, "Hostname mismatch"),
    ],
)
def test_a_bad_certificate_is_down(authority, dns, name, options, words):
    dns.names["secure.example"] = ["127.0.0.1"]
    with Server(answer(), context=authority.server(name, **options)) as server:
        error = ask(f"https://secure.example:{server.port}/").error
    assert error.startswith("its certificate is not valid: ")
    assert words in error
    assert server.seen == [], "nothing was asked of it"


def test_a_certificate_that_nobody_here_knows_is_down(tmp_path):
    with Server(answer(), context=Authority(tmp_path).server("127.0.0.1")) as server:
        assert ask(server.url).error.startswith("its certificate is not valid: ")


def test_tls_that_is_none_is_down():
    with Server(answer(), reads=False) as plain:
        assert ask(f"https://127.0.0.1:{plain.port}/").error == "the TLS handshake failed"
    with Server(silence(), reads=False) as silent:
        assert ask(f"https://127.0.0.1:{silent.port}/", timeout=1).error == NO_ANSWER


def test_a_redirect_to_a_bad_certificate_is_down(tmp_path):
    with (
        Server(answer(), context=Authority(tmp_path).server("127.0.0.1")) as there,
        Server(redirect(there.url)) as here,
    ):
        assert ask(here.url).error.startswith("its certificate is not valid: ")
