"""Load balancers created by clients, with real traffic through a real HAProxy."""

import contextlib
import io
import os
import re
import shutil
import signal
import socket
import ssl
import stat
from collections import Counter

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from compute.management.commands import balance
from compute.models import (
    NodeBalancer,
    NodeBalancerConfig,
    NodeBalancerNode,
    NodeBalancerSample,
)
from compute.services.nodebalancers.haproxy import control, export
from compute.services.nodebalancers.haproxy.control import HAProxyError
from compute.services.nodebalancers.haproxy.export import Exporter
from compute.services.nodebalancers.haproxy.render import quoted
from compute.services.removal import remove
from config.encryption import encrypt_json
from tests.certificates import certificate, new_key, pem
from tests.compute.services.nodebalancers.haproxy.running import (
    Client,
    LineServer,
    Proxy,
    needs_haproxy,
    proxy,
    until,
)
from tests.ports import free_port

pytestmark = [pytest.mark.django_db, pytest.mark.guest]

BALANCERS = "/v4/nodebalancers"
KEY = new_key()
RESYNCED = 3
"""The flags that HAProxy has set when it no longer waits for entries from this host or another."""


@pytest.fixture
def running(settings, region, monkeypatch):
    """HAProxy with the configuration of an export without load balancers.

    The timeouts are long, because the machine may be busy.
    """
    needs_haproxy()
    for name in ("SECONDS", "TIMEOUT_SECONDS"):
        monkeypatch.setattr(control, name, 240.0)
    monkeypatch.setattr(balance, "RELOAD_PATIENCE", 240.0)
    with proxy() as made:
        settings.NODEBALANCER_DIR, settings.NODEBALANCER_SOCKET = made.folder, ""
        call_command("balance", "--region", "us-test", "--no-reload", stdout=io.StringIO())
        made.start()
        settings.NODEBALANCER_RELOAD = made.reload
        yield made


class Watcher(Exporter):
    """The exporter and its HAProxy."""

    def __init__(self, running: Proxy):
        super().__init__(["us-test"])
        self.running = running

    def followed(self) -> bool:
        """Tell whether HAProxy runs the last export alone. For a moment, the previous process may still accept
        connections."""
        return self.follows() and self.running.settled()

    def ask(self, command: str) -> str:
        return control.ask(self.places.socket, command)

    def remembers(self) -> bool:
        """Tell whether HAProxy knows the sticky clients.

        A first process searches for this knowledge for five seconds, and gives the next process nothing until
        then.
        """
        found = re.search(r" flags=0x([0-9a-f]+) ", self.ask("show peers"))
        return found is not None and int(found[1], 16) & RESYNCED == RESYNCED

    def sent(self) -> int:
        """Return the bytes that HAProxy has sent to clients since its start. It counts finished connections."""
        return sum(each.sent for each in control.read_state(self.places.socket).counters.values())


@pytest.fixture
def exporter(running) -> Watcher:
    return Watcher(running)


class Balanced:
    """A load balancer with one config, and a node for each server."""

    def __init__(self, api, exporter: Watcher, servers, throttle: int = 0, **config):
        self.api, self.exporter = api, exporter
        self.port = free_port("127.8.0.4")
        nodes = [{"label": server.name, "address": server.node} for server in servers]
        body = {"region": "us-test", "client_conn_throttle": throttle}
        made = api.post(BALANCERS, {**body, "configs": [{"port": self.port, "nodes": nodes, **config}]})
        self.shown = made.json()
        assert made.status_code == 200, self.shown
        self.path = f"{BALANCERS}/{self.shown['id']}"
        self.config = f"{self.path}/configs/{api.get(f'{self.path}/configs').json()['data'][0]['id']}"
        self.follow()

    def follow(self) -> None:
        """Export new changes, and wait until HAProxy runs them."""
        self.exporter.run()
        until(self.exporter.followed, "the new configuration")

    def change(self, path: str = "", **fields) -> None:
        answer = self.api.put(path or self.config, fields)
        assert answer.status_code == 200, answer.json()
        self.follow()

    def nodes(self) -> dict[str, dict]:
        return {each["label"]: each for each in self.api.get(f"{self.config}/nodes").json()["data"]}

    def change_node(self, label: str, **fields) -> None:
        self.change(f"{self.config}/nodes/{self.nodes()[label]['id']}", **fields)

    def client(self, tls: ssl.SSLContext | None = None) -> Client:
        return Client(self.shown["ipv4"], self.port, tls)

    def statuses(self) -> dict[str, str]:
        self.exporter.run()
        return {label: node["status"] for label, node in self.nodes().items()}

    def until_they_are(self, **wanted: str) -> None:
        until(lambda: self.statuses() == wanted, f"{wanted}")


class TestTraffic:
    def test_is_shared_out_by_weight(self, api, exporter, servers):
        balanced = Balanced(api, exporter, servers)
        assert Counter(balanced.client().names(10)) == {"one": 5, "two": 5}
        balanced.change_node("one", weight=150)
        assert Counter(balanced.client().names(20)) == {"one": 15, "two": 5}
        assert servers[0].headers["X-Forwarded-For"] == "127.0.0.1"
        assert servers[0].headers["X-Forwarded-Proto"] == "http"

    def test_of_one_source_stays_on_one_node(self, api, exporter, servers):
        balanced = Balanced(api, exporter, servers, algorithm="source")
        by_source = [set(balanced.client().names(3, f"127.0.0.{n}")) for n in range(1, 17)]
        assert all(len(names) == 1 for names in by_source)
        assert set.union(*by_source) == {"one", "two"}

    def test_is_passed_through_as_tcp(self, api, exporter, instances):
        server = LineServer("line", "127.9.0.2")
        balanced = Balanced(api, exporter, [server], protocol="tcp", check="connection", check_interval=1)
        assert balanced.client().line("hello") == "line"
        assert b"hello\n" in server.heard
        balanced.change(proxy_protocol="v1")
        assert balanced.client().line() == "line"
        assert any(heard.startswith(b"PROXY TCP4 127.0.0.1 127.8.0.4 ") for heard in server.heard)
        server.close()

    def test_is_decrypted_with_the_certificate(self, api, exporter, servers, running):
        tls = {"protocol": "https", "ssl_cert": certificate(KEY, dns="www.example.com"), "ssl_key": pem(KEY)}
        balanced = Balanced(api, exporter, servers, **tls)
        trusting = ssl.create_default_context(cadata=tls["ssl_cert"])
        trusting.check_hostname = False
        client = balanced.client(trusting)
        assert set(client.names(4)) == {"one", "two"}
        assert servers[0].headers["X-Forwarded-Proto"] == "https"
        (kept,) = (running.folder / "certificates").iterdir()
        assert stat.S_IMODE(kept.stat().st_mode) == stat.S_IMODE((running.folder / "haproxy.cfg").stat().st_mode)
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600

        renewed = certificate(KEY, "renewed.example.com")
        balanced.change(ssl_cert=renewed)
        trusting = ssl.create_default_context(cadata=renewed)
        trusting.check_hostname = False
        assert balanced.client(trusting).get()[0] == 200
        assert len(list((running.folder / "certificates").iterdir())) == 1, "the old one is gone"
        with pytest.raises(ssl.SSLError):
            client.get()

    def test_speaks_old_tls_where_that_is_asked_for(self, api, exporter, servers):
        tls = {"protocol": "https", "ssl_cert": certificate(KEY), "ssl_key": pem(KEY)}
        balanced = Balanced(api, exporter, servers, **tls)
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.set_ciphers("DEFAULT:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning, match="deprecated"):
            old.minimum_version = ssl.TLSVersion.TLSv1
        with pytest.warns(DeprecationWarning, match="deprecated"):
            old.maximum_version = ssl.TLSVersion.TLSv1
        with pytest.raises(ssl.SSLError):
            balanced.client(old).get()
        balanced.change(cipher_suite="legacy")
        assert balanced.client(old).get()[0] == 200

    def test_ends_with_the_balancer(self, api, exporter, servers):
        balanced = Balanced(api, exporter, servers)
        api.delete(balanced.path)
        balanced.follow()
        until(lambda: refused(balanced.client()), "the closed port")

    def test_no_longer_goes_to_a_compute_that_is_gone(self, api, exporter, servers, instances):
        balanced = Balanced(api, exporter, servers)
        remove(instances[0])
        balanced.follow()
        assert balanced.client().names(4) == ["two"] * 4


def refused(client: Client) -> bool:
    try:
        client.get()
    except ConnectionError as error:
        return isinstance(error, ConnectionRefusedError)
    return False


class TestStickiness:
    def test_by_table_survives_a_reload(self, api, exporter, servers):
        balanced = Balanced(api, exporter, servers, stickiness="table")
        names = balanced.client().names(4)
        assert len(set(names)) == 1
        until(exporter.remembers, "the end of looking for a process to learn from")
        balanced.change(check_attempts=4)
        until(lambda: "used:1" in exporter.ask("show table"), "what the process before tells")
        assert balanced.client().names(4) == names

    def test_by_cookie_is_each_clients_own(self, api, exporter, servers):
        balanced = Balanced(api, exporter, servers, stickiness="http_cookie")
        clients = [balanced.client(), balanced.client()]
        found = [set(client.names(3)) for client in clients]
        assert sorted(map(sorted, found)) == [["one"], ["two"]]
        assert clients[0].cookie.startswith("NB_SRVID=n")


class TestModes:
    def test_a_drained_node_keeps_only_those_who_stick_to_it(self, api, exporter, servers):
        balanced = Balanced(api, exporter, servers, stickiness="http_cookie")
        clients = [balanced.client(), balanced.client()]
        by_name = {client.get()[1]: client for client in clients}
        balanced.change_node("one", mode="drain")
        assert by_name["one"].names(2) == ["one", "one"]
        assert {balanced.client().get()[1] for _ in range(4)} == {"two"}

    def test_a_backup_gets_the_traffic_of_a_rejected_node(self, api, exporter, servers):
        balanced = Balanced(api, exporter, servers)
        balanced.change_node("two", mode="backup")
        assert balanced.client().names(4) == ["one"] * 4
        balanced.change_node("one", mode="reject")
        assert balanced.client().names(4) == ["two"] * 4
        balanced.change_node("two", mode="reject")
        assert balanced.client().get()[0] == 503


class TestChecks:
    def test_tell_who_is_up_and_who_is_down(self, api, exporter, servers):
        balanced = Balanced(api, exporter, servers, check="http", check_path="/health", check_interval=1)
        balanced.until_they_are(one="UP", two="UP")
        assert api.get(balanced.config).json()["nodes_status"] == {"up": 2, "down": 0}
        version = NodeBalancer.objects.get().version
        servers[0].status = 500
        balanced.until_they_are(one="DOWN", two="UP")
        assert api.get(balanced.config).json()["nodes_status"] == {"up": 1, "down": 1}
        assert balanced.client().names(4) == ["two"] * 4
        servers[0].status = 204
        balanced.until_they_are(one="UP", two="UP")
        assert NodeBalancer.objects.get().version == version, "a status is no change of the balancer"

    def test_look_into_the_body(self, api, exporter, servers):
        servers[1].ok = "all well"
        check = {"check": "http_body", "check_path": "/health?a=%20b", "check_body": 'it\'s "fine" # ${HOME} æ'}
        servers[0].ok = f"well, {check['check_body']}"
        balanced = Balanced(api, exporter, servers, **check, check_interval=1, check_attempts=1)
        balanced.until_they_are(one="UP", two="DOWN")

    @pytest.mark.parametrize("reason", [b"\xff\xfe", b"a\x0bnb7-8\x0cnb9"])
    def test_are_reported_for_every_answer_of_a_node(self, api, exporter, servers, reason):
        check = {"check": "http", "check_path": "/health", "check_interval": 1, "check_attempts": 1}
        balanced = Balanced(api, exporter, servers, **check)
        servers[0].status, servers[0].reason = 500, reason
        balanced.until_they_are(one="DOWN", two="UP")

    def test_of_connections_need_one_attempt_only(self, api, exporter, servers):
        balanced = Balanced(api, exporter, servers, check="connection", check_interval=1, check_attempts=1)
        balanced.until_they_are(one="UP", two="UP")
        servers[1].close()
        balanced.until_they_are(one="UP", two="DOWN")
        assert not servers[0].checks

    def test_use_the_failures_of_traffic(self, api, exporter, servers):
        check = {"check": "connection", "check_interval": 3600, "check_attempts": 2}
        balanced = Balanced(api, exporter, servers, **check)
        balanced.until_they_are(one="UP", two="UP")
        servers[0].status = 500
        assert "500" in balanced.client().names(8)
        balanced.until_they_are(one="DOWN", two="UP")
        assert balanced.client().names(4) == ["two"] * 4

    def test_by_traffic_alone_find_a_node_again(self, api, exporter, servers):
        balanced = Balanced(api, exporter, servers, check_interval=3600, check_attempts=2)
        balanced.until_they_are(one="UP", two="UP")
        servers[0].status = 500
        assert "500" in balanced.client().names(8)
        balanced.until_they_are(one="DOWN", two="UP")
        servers[0].status = 200
        assert balanced.client().names(4) == ["two"] * 4
        balanced.change(check_interval=1)
        balanced.until_they_are(one="UP", two="UP")
        assert set(balanced.client().names(4)) == {"one", "two"}

    def test_by_traffic_alone_are_of_connections_in_tcp(self, api, exporter, instances):
        lines = [LineServer("one", "127.9.0.2"), LineServer("two", "127.9.0.3")]
        check = {"check_interval": 3600, "check_attempts": 1}
        balanced = Balanced(api, exporter, lines, protocol="tcp", proxy_protocol="v1", **check)
        balanced.until_they_are(one="UP", two="UP")
        lines[0].close()
        assert [balanced.client().line() for _ in range(4)] == ["two"] * 4, "what fails is sent elsewhere"
        balanced.until_they_are(one="DOWN", two="UP")
        lines[1].close()

    def test_leave_a_node_down_over_a_reload(self, api, exporter, servers):
        """The node is silent, so its first check after the reload takes long. Until then, only the saved state
        shows that it is down."""
        balanced = Balanced(api, exporter, servers, check="http", check_path="/health", check_interval=1)
        servers[0].status = 500
        balanced.until_they_are(one="DOWN", two="UP")
        servers[0].answering.clear()
        balanced.change(check_interval=60, check_timeout=30)
        assert balanced.client().names(4) == ["two"] * 4

    def test_without_checks_the_status_is_unknown(self, api, exporter, servers):
        balanced = Balanced(api, exporter, servers, check="connection", check_interval=1)
        balanced.until_they_are(one="UP", two="UP")
        balanced.change(check="none", check_passive=False)
        balanced.until_they_are(one="Unknown", two="Unknown")

    def test_of_an_old_address_do_not_count_for_a_new_one(self, api, exporter, servers):
        balanced = Balanced(api, exporter, servers, check="connection", check_interval=1)
        balanced.until_they_are(one="UP", two="UP")
        seen = control.read_state(exporter.places.socket).statuses
        api.put(f"{balanced.config}/nodes/{balanced.nodes()['one']['id']}", {"address": "127.9.0.2:1"})
        export.stats.see(seen)
        assert balanced.nodes()["one"]["status"] == "Unknown"


class TestTheThrottle:
    def test_holds_up_one_client_and_not_the_other(self, api, exporter, servers):
        balanced = Balanced(api, exporter, servers, throttle=3)

        def served(source: str) -> int:
            client = balanced.client()
            with contextlib.ExitStack() as stack:
                begun = [stack.enter_context(client.begin(source)) for _ in range(12)]
                return sum(map(answers, begun))

        # on a busy machine, the connections may take more than a second
        until(lambda: served("127.0.0.1") < 12, "the throttle")
        assert served("127.0.0.2") >= 3
        balanced.change(balanced.path, client_conn_throttle=0)
        assert served("127.0.0.1") == 12


def answers(connection: socket.socket) -> bool:
    with contextlib.suppress(OSError):  # reset now, or before it was connected
        return connection.recv(100).startswith(b"HTTP/1.1 200 ")
    return False


class TestWhatIsMeasured:
    def test_adds_up_to_transfer_and_stats(self, api, exporter, servers, monkeypatch):
        balanced = Balanced(api, exporter, servers)
        exporter.report_now(count=True)
        assert api.get(f"{balanced.path}/stats").json()["errors"][0]["reason"] == (
            "Stats are unavailable at this time."
        )
        servers[0].name = servers[1].name = "x" * 100_000
        balanced.client().names(5)
        until(lambda: exporter.sent() > 500_000, "the count of the first five")
        balanced.change(algorithm="source")
        balanced.client().names(5)
        until(lambda: exporter.sent() > 500_000, "the count of the others")
        exporter.report_now(count=True)
        transfer = api.get(balanced.path).json()["transfer"]
        assert 1.0 <= transfer["out"] < 1.1, "what went through before the reload is in it"
        assert transfer["total"] == pytest.approx(transfer["in"] + transfer["out"], abs=0.01)

        later = export.now() + export.stats.timedelta(minutes=5)
        monkeypatch.setattr(export, "now", lambda: later)
        exporter.report_now(count=True)
        sample = NodeBalancerSample.objects.get()
        assert sample.connections > 0
        stats = api.get(f"{balanced.path}/stats").json()["data"]
        moment = int(sample.at.timestamp() * 1000)
        assert stats["connections"] == [[moment, round(sample.connections, 2)]]
        assert stats["traffic"]["out"] == [[moment, round(sample.traffic_out, 2)]]


class TestTheExporter:
    def test_reloads_only_after_changes(self, api, exporter, servers):
        balanced = Balanced(api, exporter, servers)
        process = control.read_state(exporter.places.socket).process
        assert not exporter.run()
        api.put(balanced.path, {"label": "renamed"})
        assert not exporter.run(), "the label is nowhere in it"
        assert not Exporter(["us-test"]).run(), "nor does it matter who wrote it"
        assert control.read_state(exporter.places.socket).process == process

    def test_serves_the_regions_of_its_host(self, api, exporter, servers):
        Balanced(api, exporter, servers)
        elsewhere = Exporter(["us-other"], reload=False)
        elsewhere.export()
        assert "frontend" not in elsewhere.config.read_text()

    def test_leaves_out_only_load_balancers_that_haproxy_refuses(self, api, exporter, servers):
        good = Balanced(api, exporter, servers)
        bad = Balanced(api, exporter, servers)
        NodeBalancerNode.objects.filter(config__nodebalancer=bad.shown["id"], label="one").update(address="nowhere")
        NodeBalancer.objects.filter(pk=bad.shown["id"]).update(version=9)
        good.change(algorithm="source")
        assert exporter.refused == {bad.shown["id"]: 9}
        assert good.client().get()[0] == 200
        with pytest.raises(CommandError, match=f"refuses them: {bad.shown['id']}"):
            call_command("balance", "--region", "us-test", stdout=io.StringIO())
        NodeBalancer.objects.get(pk=bad.shown["id"]).delete()
        exporter.run()
        assert exporter.refused == {}

    def test_leaves_out_a_port_whose_key_nobody_can_open(self, api, exporter, servers, settings):
        tls = {"protocol": "https", "ssl_cert": certificate(KEY), "ssl_key": pem(KEY)}
        Balanced(api, exporter, servers, **tls)
        good = Balanced(api, exporter, servers)
        settings.ENCRYPTION_KEYS = ["another"]
        good.change(algorithm="source")
        assert good.client().get()[0] == 200
        assert "ssl crt" not in exporter.config.read_text()

    def test_leaves_out_a_port_until_it_is_free(self, api, exporter, servers, monkeypatch):
        balanced = Balanced(api, exporter, servers)
        port = free_port("0.0.0.0")
        with socket.create_server(("0.0.0.0", port)):
            api.post(f"{balanced.path}/configs", {"port": port})
            balanced.change(algorithm="source")
            assert exporter.unbindable == {f"{balanced.shown['ipv4']}:{port}"}
            assert balanced.client().get()[0] == 200
            with pytest.raises(CommandError, match=f"listen there: .*:{port}"):
                call_command("balance", "--region", "us-test", stdout=io.StringIO())
            assert not exporter.run(), "it is tried now and then"
        monkeypatch.setattr(export, "BIND_AGAIN", 0)
        balanced.follow()
        assert Client(balanced.shown["ipv4"], port).get()[0] == 503, "it has no nodes"
        assert not exporter.unbindable
        assert not exporter.run(), "what HAProxy listens on is not tried again"

    def test_leaves_out_addresses_that_are_not_there(self, api, exporter, servers):
        balanced = Balanced(api, exporter, servers)
        NodeBalancer.objects.update(ipv6="2001:db8::1")
        balanced.change(algorithm="source")
        assert exporter.unbindable == {f"[2001:db8::1]:{balanced.port}"}
        assert balanced.client().get()[0] == 200

    def test_leaves_no_keys_that_it_does_not_use(self, api, exporter, servers, running):
        tls = {"protocol": "https", "ssl_cert": certificate(KEY), "ssl_key": pem(KEY)}
        Balanced(api, exporter, servers)
        bad = api.post(BALANCERS, {"region": "us-test", "configs": [{"nodes": [], **tls}]}).json()
        NodeBalancerConfig.objects.filter(nodebalancer=bad["id"]).update(algorithm="nonsense")
        NodeBalancer.objects.filter(pk=bad["id"]).update(version=9)
        (running.folder / "certificates" / ".part").touch()
        assert not exporter.run()
        assert exporter.refused == {bad["id"]: 9}
        assert not list((running.folder / "certificates").iterdir())

    def test_changes_nothing_where_the_whole_is_refused(self, api, exporter, servers, settings):
        balanced = Balanced(api, exporter, servers)
        before = exporter.config.read_text()
        settings.NODEBALANCER_HAPROXY = shutil.which("false")
        api.put(balanced.config, {"algorithm": "source"})
        with pytest.raises(HAProxyError):
            exporter.run()
        assert exporter.config.read_text() == before
        settings.NODEBALANCER_HAPROXY = "haproxy"
        assert exporter.run(), "it is tried again"

    def test_tries_a_reload_again_that_was_not_followed(
        self, api, exporter, servers, settings, running, monkeypatch
    ):
        balanced = Balanced(api, exporter, servers)
        settings.NODEBALANCER_RELOAD = "true"
        api.put(balanced.config, {"algorithm": "source"})
        assert exporter.run()
        assert not exporter.follows()
        settings.NODEBALANCER_RELOAD = running.reload
        monkeypatch.setattr(export, "RELOAD_PATIENCE", 0)
        exporter.run()
        until(exporter.follows, "the second reload")

    def test_writes_files_for_its_owner_alone(self, api, exporter, servers, running):
        Balanced(api, exporter, servers)
        with exporter.alone():
            open_to_others = [
                path for path in running.folder.iterdir() if stat.S_IMODE(path.stat().st_mode) & 0o077
            ]
        assert [path.name for path in open_to_others] == ["log"], "which is the test's own"

    def test_lets_no_other_write_beside_it(self, exporter):
        with exporter.alone(), pytest.raises(CommandError, match="Another exporter"):
            call_command("balance", "--region", "us-test")

    def test_is_done_once_by_the_command(self, api, running: Proxy, servers, exporter):
        balanced = Balanced(api, exporter, servers)
        out = io.StringIO()
        api.put(balanced.config, {"algorithm": "source"})
        call_command("balance", "--region", "us-test", stdout=out)
        assert ": written (skerry-" in out.getvalue()
        assert exporter.places.folder == running.folder
        call_command("balance", "--region", "us-test", stdout=out)
        assert ": unchanged (skerry-" in out.getvalue()
        with pytest.raises(CommandError, match="no region us-nowhere"):
            call_command("balance", "--region", "us-nowhere")

    def test_continues_after_errors_until_it_is_stopped(self, monkeypatch, settings, tmp_path, db):
        settings.NODEBALANCER_DIR, settings.NODEBALANCER_SOCKET = tmp_path, ""
        outcomes = [HAProxyError("it refuses"), OperationalError("it is gone"), None]
        closed: list[bool] = []

        def run(exporter) -> None:
            outcome = outcomes.pop(0)
            if outcome is None:
                os.kill(os.getpid(), signal.SIGTERM)
            else:
                raise outcome

        monkeypatch.setattr(Exporter, "run", run)
        monkeypatch.setattr(balance.connection, "close", lambda: closed.append(True))
        before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
        try:
            call_command("balance", "--watch", "--every", "0.01")
        finally:
            for number, handler in zip((signal.SIGTERM, signal.SIGINT), before, strict=True):
                signal.signal(number, handler)
        assert (outcomes, closed) == ([], [True])

    def test_says_so_when_haproxy_does_not_follow(self, api, exporter, servers, settings, running, monkeypatch):
        balanced = Balanced(api, exporter, servers)
        settings.NODEBALANCER_RELOAD = "true"
        monkeypatch.setattr(balance, "RELOAD_PATIENCE", 0.2)
        api.put(balanced.config, {"algorithm": "source"})
        for _ in range(2):
            with pytest.raises(CommandError, match="does not run the new configuration"):
                call_command("balance", "--region", "us-test")
        settings.NODEBALANCER_RELOAD = running.reload
        monkeypatch.setattr(balance, "RELOAD_PATIENCE", 240.0)
        call_command("balance", "--region", "us-test", stdout=io.StringIO())


def test_without_haproxy_these_are_skipped_but_not_in_ci(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda program: None)
    monkeypatch.setenv("CI", "")
    with pytest.raises(pytest.skip.Exception):
        needs_haproxy()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(AssertionError, match="not installed"):
        needs_haproxy()


@pytest.mark.parametrize(
    ("text", "expected"),
    [("/health?a=1", "/health?a=1"), ("a b", "a\\x20b"), ('"$X" #\n', "\\x22\\x24X\\x22\\x20\\x23\\x0a"),
     ("\\n'", "\\x5cn\\x27"), ("æ", "\\xc3\\xa6")],
)  # fmt: skip
def test_nothing_that_a_client_writes_ends_a_word_of_the_configuration(text, expected):
    assert quoted(text) == expected


def test_an_encrypted_key_is_found_when_keys_rotate(db):
    from config.management.commands.rotate_keys import encrypted_columns

    assert "compute.NodeBalancerConfig.encrypted" in map(str, encrypted_columns())
    assert b"secret" not in encrypt_json({"key": "secret"})
