"""Configs of a load balancer and their nodes in a browser."""

import pytest

from compute.models import NodeBalancerConfig, NodeBalancerNode
from compute.pages.nodebalancers import rebuild
from compute.services.nodebalancers.configs import key_of
from tests.accounts.pages.browsers import problems
from tests.certificates import certificate, new_key, pem
from tests.compute.at_consoles import signed_in
from tests.compute.pages.nodebalancers.balancing import actions, add_config, form_of
from tests.compute.pages.parts import text
from tests.compute.pages.visiting import confirmed
from tests.factories import (
    GlobalGrantsFactory,
    GrantFactory,
    NodeBalancerConfigFactory,
    NodeBalancerFactory,
    NodeBalancerNodeFactory,
)

pytestmark = pytest.mark.django_db

KEY = new_key()
PAIR = {"protocol": "https", "ssl_cert": certificate(KEY), "ssl_key": pem(KEY)}


@pytest.fixture
def config(balancer) -> NodeBalancerConfig:
    return NodeBalancerConfigFactory(nodebalancer=balancer, port=80)


@pytest.fixture
def node(config, instance) -> NodeBalancerNode:
    return NodeBalancerNodeFactory(
        config=config, instance=instance, label="web-1", address="10.0.0.2:80", status="UP"
    )


def at(config: NodeBalancerConfig, page: str) -> str:
    return f"/home/load-balancers/{config.nodebalancer_id}/configs/{config.pk}/{page}"


def send(browser, where: str, **fields):
    """Change some values of a form, and send it as a browser does. None leaves a value out."""
    sent = {**form_of(browser.get(where)), **fields}
    return browser.post(where, {name: value for name, value in sent.items() if value is not None}, follow=True)


class TestConfigs:
    def test_a_new_one_has_the_api_s_defaults(self, browser, balancer):
        where = f"/home/load-balancers/{balancer.pk}/configs/new"
        answer = send(
            browser,
            where,
            port=8080,
            check="http_body",
            check_body=" ok ",
            check_path="/health",
            check_passive=None,
        )
        assert "listens on http on port 8080" in text(answer)
        made = balancer.configs.get()
        assert (made.check_type, made.check_body, made.check_path, made.check_passive) == (
            "http_body",
            " ok ",
            "/health",
            False,
        )
        assert (made.check_interval, made.algorithm) == (31, "roundrobin")
        assert actions() == ["nodebalancer_config_create"]

    def test_without_a_port_a_new_one_has_the_usual_port_of_its_protocol(self, browser, balancer):
        where = f"/home/load-balancers/{balancer.pk}/configs/new"
        assert "Left empty: 443 with HTTPS, otherwise 80." in text(browser.get(where))
        send(browser, where, **PAIR)
        send(browser, where)
        assert dict(balancer.configs.values_list("protocol", "port")) == {"https": 443, "http": 80}

    def test_each_refusal_stands_at_its_field(self, browser, config):
        where = f"/home/load-balancers/{config.nodebalancer_id}/configs/new"
        answer = send(
            browser, where, port=80, protocol="https", check_interval="x", check_timeout=31, algorithm="dice"
        )
        assert problems(answer, "port") == "Port must be unique among the configs of a load balancer"
        assert problems(answer, "ssl_cert") == "Certificate is required"
        assert problems(answer, "ssl_key") == '"Private key" is required'
        for name in ("check_interval", "check_timeout", "algorithm"):
            assert problems(answer, name), name
        assert actions() == []

    def test_a_nul_is_refused(self, browser, config):
        assert problems(send(browser, at(config, "edit"), check_body="a\0b"), "check_body")

    def test_a_certificate_stays_until_another_is_given_and_is_never_shown(self, browser, config):
        send(browser, at(config, "edit"), port=443, **PAIR)
        config.refresh_from_db()
        assert (config.port, config.ssl_commonname) == (443, "www.example.com")
        shown = text(browser.get(at(config, "edit")))
        assert "If empty, the current one stays." in shown
        assert "BEGIN" not in shown
        send(browser, at(config, "edit"), algorithm="leastconn")
        config.refresh_from_db()
        assert config.algorithm == "leastconn"
        assert key_of(config) == PAIR["ssl_key"]

    def test_a_number_that_is_emptied_is_refused_and_a_text_is_cleared(self, browser, config):
        NodeBalancerConfig.objects.update(check_path="/health")
        assert problems(send(browser, at(config, "edit"), check_interval=""), "check_interval")
        send(browser, at(config, "edit"), check_path="")
        config.refresh_from_db()
        assert config.check_path == ""

    def test_deleting_one_asks_first(self, browser, config, node):
        assert "closes the port" in text(browser.get(at(config, "delete")))
        assert NodeBalancerConfig.objects.exists()
        assert "was deleted" in text(browser.post(at(config, "delete"), follow=True))
        assert not NodeBalancerNode.objects.exists()
        assert actions() == ["nodebalancer_config_delete"]


class TestNodes:
    def test_a_node_is_added_with_an_offered_address(self, browser, config):
        where = at(config, "nodes/new")
        assert '<option value="10.0.0.2">web-1, us-test</option>' in text(browser.get(where))
        answer = send(browser, where, label="web-1", address="10.0.0.2", port=8080, mode="backup")
        assert "The node web-1 was added" in text(answer)
        made = config.nodes.get()
        assert (made.address, made.mode, made.weight) == ("10.0.0.2:8080", "backup", 50)
        assert actions() == ["nodebalancer_node_create"]

    def test_without_private_addresses_the_page_says_where_to_get_one(self, config, world):
        user = GlobalGrantsFactory(user__account=world.account).user
        GrantFactory(
            user=user, entity_type="nodebalancer", entity_id=config.nodebalancer_id, permissions="read_write"
        )
        shown = text(confirmed(signed_in(user)).get(at(config, "nodes/new")))
        assert "Add a private address on the tab Network" in shown
        assert "10.0.0.2" not in shown

    def test_each_refusal_stands_at_its_field(self, browser, config):
        answer = send(
            browser, at(config, "nodes/new"), label="x", address="10.0.0.9", port=80, weight=256, mode="off"
        )
        for name in ("label", "weight", "mode"):
            assert problems(answer, name), name
        assert "has to be a private IPv4 address" in problems(answer, "address")
        assert (
            problems(send(browser, at(config, "nodes/new"), address="10.0.0.2", port=""), "port")
            == "Port is required"
        )
        assert actions() == []

    def test_a_node_is_changed(self, browser, config, node):
        where = at(config, f"nodes/{node.pk}/edit")
        assert form_of(browser.get(where))["port"] == "80"
        assert "The node web-2 was saved." in text(
            send(browser, where, label="web-2", port=81, weight=7, mode="drain")
        )
        node.refresh_from_db()
        assert (node.label, node.address, node.weight, node.mode) == ("web-2", "10.0.0.2:81", 7, "drain")
        for name in ("label", "address", "weight"):
            assert problems(send(browser, where, **{name: ""}), name), name

    def test_a_node_is_deleted(self, browser, config, node):
        where = at(config, f"nodes/{node.pk}/delete")
        assert "10.0.0.2:80 gets no more traffic" in text(browser.get(where))
        browser.post(where)
        assert not config.nodes.exists()
        assert actions() == ["nodebalancer_node_delete"]


class TestRebuild:
    def test_changes_settings_and_all_nodes_at_once(self, browser, config, node, instance):
        gone = NodeBalancerNodeFactory(config=config, instance=instance, label="old")
        fields = {
            "port": 81, "nodes[0].weight": 9, "nodes[1].delete": "on",
            "nodes[2].label": "new", "nodes[2].address": "10.0.0.2:8080",
        }  # fmt: skip
        assert "was rebuilt with 2 nodes" in text(send(browser, at(config, "rebuild"), **fields))
        config.refresh_from_db()
        assert config.port == 81
        kept, new = config.nodes.order_by("pk")
        assert (kept.pk, kept.label, kept.weight, kept.status) == (node.pk, "web-1", 9, "UP")
        assert (new.label, new.address) == ("new", "10.0.0.2:8080")
        assert not NodeBalancerNode.objects.filter(pk=gone.pk).exists()
        assert actions() == ["nodebalancer_config_update"]

    def test_each_refusal_stands_in_its_row(self, browser, config, node, instance):
        NodeBalancerNodeFactory(config=config, instance=instance, label="old")
        fields = {
            "nodes[0].delete": "on",
            "nodes[1].label": "",
            "nodes[3].label": "new",
            "nodes[3].address": "10.0.0.9:80",
        }
        answer = send(browser, at(config, "rebuild"), **fields)
        errors = answer.context["form"].errors
        assert errors.keys() == {"nodes[1].label", "nodes[3].address"}
        assert 'id="id_nodes[3].address_error"' in text(answer)
        assert config.nodes.count() == 2

    def test_a_node_of_another_config_is_refused(self, browser, config, node, instance, balancer):
        other = add_config(balancer, instance).nodes.first()
        answer = send(browser, at(config, "rebuild"), **{"nodes[0].id": other.pk})
        assert "Id is not valid" in text(answer)

    def test_a_config_with_too_many_nodes_for_the_form_is_left_to_the_api(
        self, browser, config, node, instance, monkeypatch
    ):
        NodeBalancerNodeFactory(config=config, instance=instance)
        monkeypatch.setattr(rebuild, "MAX_NODES", 1)
        assert "To rebuild a config with more nodes, use the API." in text(browser.get(at(config, "rebuild")))
        send(browser, at(config, "rebuild"), port=81)
        assert config.nodes.count() == 2
        assert actions() == []

    def test_needs_the_grant_of_the_account_and_on_the_load_balancer(self, config, world):
        for level, may in (("read_write", False), ("read_only", True)):
            user = GlobalGrantsFactory(user__account=world.account, add_nodebalancers=may).user
            about = {"entity_type": "nodebalancer", "entity_id": config.nodebalancer_id}
            GrantFactory(user=user, **about, permissions=level)
            assert confirmed(signed_in(user)).post(at(config, "rebuild")).status_code == 403


class TestPermissions:
    PAGES = ("edit", "delete", "nodes/new", "nodes/{}/edit", "nodes/{}/delete")

    @pytest.mark.parametrize("page", PAGES)
    def test_a_reader_is_refused_and_a_stranger_finds_nothing(self, page, config, node, world, stranger):
        where = at(config, page.format(node.pk))
        user = GlobalGrantsFactory(user__account=world.account).user
        GrantFactory(user=user, entity_type="nodebalancer", entity_id=config.nodebalancer_id)
        assert confirmed(signed_in(user)).post(where).status_code == 403
        assert signed_in(stranger).post(where).status_code == 404
        assert actions() == []

    @pytest.mark.parametrize("page", PAGES)
    def test_parts_of_another_load_balancer_are_not_found(self, page, browser, config, node, world):
        other = NodeBalancerFactory(account=world.account)
        where = f"/home/load-balancers/{other.pk}/configs/{config.pk}/{page.format(node.pk)}"
        assert browser.get(where).status_code == 404
        answer = browser.post(where, follow=True)
        assert answer.redirect_chain == [(f"/home/load-balancers/{other.pk}", 302)]
        assert "does not exist any more" in text(answer)
        assert actions() == []
