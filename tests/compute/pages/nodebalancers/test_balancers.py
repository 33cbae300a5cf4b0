"""Load balancers in a browser: the list, creating one, its overview, its settings, and deleting it."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils.timezone import now

from compute.models import NodeBalancer, NodeBalancerConfig, NodeBalancerNode
from compute.pages.nodebalancers.graphs import on_grid
from regions.models import Region
from tests.accounts.pages.browsers import problems
from tests.certificates import certificate, new_key, pem
from tests.compute.at_consoles import signed_in
from tests.compute.pages.nodebalancers.balancing import actions, add_balancer, add_config, form_of
from tests.compute.pages.parts import text
from tests.compute.pages.visiting import HTMX, confirmed
from tests.factories import GlobalGrantsFactory, GrantFactory, NodeBalancerFactory

pytestmark = pytest.mark.django_db

LIST, NEW = "/home/load-balancers", "/home/load-balancers/new"
KEY = new_key()


def page_of(balancer: NodeBalancer, page: str = "") -> str:
    return f"{LIST}/{balancer.pk}{page}"


def restricted_to(balancer: NodeBalancer, level: str = "read_only", **grants: bool):
    """Return the browser of a restricted user with this grant on the load balancer."""
    user = GlobalGrantsFactory(user__account=balancer.account, **grants).user
    GrantFactory(user=user, entity_type="nodebalancer", entity_id=balancer.pk, permissions=level)
    return confirmed(signed_in(user))


class TestTheList:
    def test_an_empty_list_explains_load_balancers(self, browser):
        shown = text(browser.get(LIST))
        assert "You have no load balancers yet" in shown
        assert f'href="{NEW}"' in shown

    def test_shows_addresses_ports_health_and_transfer(self, browser, world, instance):
        made = add_balancer(world.account, world.region, instance, label="edge")
        add_config(made, instance, port=443)
        shown = text(browser.get(LIST))
        for part in (made.ipv4, made.ipv6, "443, ", "2 UP", "2 DOWN", "2 Unknown", "3 GB"):
            assert part in shown, part

    def test_filters_are_in_the_address(self, browser, world, balancer):
        NodeBalancerFactory(account=world.account, region=world.region, label="inner", tags=["web"])
        shown = text(browser.get(LIST, {"label": "inn", "region": "us-test", "tags": "web"}))
        assert ">inner</a>" in shown
        assert ">edge</a>" not in shown
        assert "No load balancers match" in text(browser.get(LIST, {"label": "none"}))

    def test_a_restricted_user_sees_granted_ones_and_verbs_only_with_the_grant(self, world, balancer):
        NodeBalancerFactory(account=world.account, region=world.region, label="secret")
        shown = text(restricted_to(balancer).get(LIST))
        assert ">edge</a>" in shown
        assert "secret" not in shown
        assert "Actions of edge" not in shown
        assert "Create load balancer" not in shown
        shown = text(restricted_to(balancer, "read_write", add_nodebalancers=True).get(LIST))
        assert "Actions of edge" in shown
        assert "Create load balancer" in shown

    def test_strangers_see_none(self, stranger, balancer):
        assert "edge" not in text(signed_in(stranger).get(LIST))


class TestCreating:
    def send(self, browser, **fields):
        return browser.post(NEW, {**form_of(browser.get(NEW)), "region": "us-test", **fields})

    def test_with_a_first_config_and_a_first_node(self, browser, instance):
        answer = self.send(
            browser, label="edge", tags="web", node_label="web-1", node_address="10.0.0.2", node_port=8080
        )
        made = NodeBalancer.objects.get()
        assert answer["Location"] == page_of(made)
        assert (made.label, made.tags, made.client_conn_throttle) == ("edge", ["web"], 0)
        config = made.configs.get()
        blank = NodeBalancerConfig()
        names = ("port", "protocol", "check_type", "check_interval", "check_passive")
        assert [getattr(config, name) for name in names] == [getattr(blank, name) for name in names]
        node = config.nodes.get()
        assert (node.label, node.address, node.instance, node.weight) == ("web-1", "10.0.0.2:8080", instance, 50)
        assert actions() == ["nodebalancer_create", "nodebalancer_config_create"]

    def test_with_https_on_its_usual_port(self, browser):
        key = new_key()
        self.send(browser, label="edge", protocol="https", ssl_cert=certificate(key), ssl_key=pem(key))
        assert NodeBalancerConfig.objects.get().port == 443

    def test_without_a_config_its_fields_are_ignored(self, browser):
        fields = form_of(browser.get(NEW))
        del fields["has_config"]
        browser.post(NEW, {**fields, "region": "us-test", "port": "none", "node_address": "elsewhere"})
        assert NodeBalancer.objects.get().configs.count() == 0

    def test_each_refusal_stands_at_its_field(self, browser, world, balancer):
        answer = self.send(
            browser, label="edge", client_conn_throttle=21, port=0, check="http_body", check_path="ä",
            protocol="tcp", stickiness="http_cookie", node_label="x", node_address="10.9.9.9",
        )  # fmt: skip
        assert problems(answer, "label") == "Label must be unique among your load balancers"
        for name in ("client_conn_throttle", "port", "check_path", "node_label"):
            assert problems(answer, name), name
        assert problems(answer, "check_body") == '"Text in the answer" is required'
        assert problems(answer, "stickiness") == "A cookie needs the protocol http or https."
        assert problems(answer, "node_address") == "Must begin with 10.0.0"
        assert NodeBalancer.objects.count() == 1

    @pytest.mark.parametrize(
        ("port", "reason"), [("", "Port is required"), ("70000", "must be 1-65535"), ("x", "")]
    )
    def test_a_node_needs_a_port(self, port, reason, browser):
        answer = self.send(browser, node_label="web-1", node_address="10.0.0.2", node_port=port)
        assert reason in problems(answer, "node_port")
        assert problems(answer, "node_port")
        assert not NodeBalancer.objects.exists()

    def test_a_region_without_load_balancers_is_disabled_and_refused(self, browser):
        Region.objects.update(capabilities=["Computes"])
        assert "This region does not offer load balancers." in text(browser.get(NEW))
        answer = self.send(browser)
        assert problems(answer, "region") == "This region does not offer load balancers."
        assert problems(self.send(browser, region=""), "region") == "Region is required"

    def test_a_private_key_is_not_sent_back(self, browser):
        key = pem(KEY)
        answer = self.send(browser, label="x", protocol="https", ssl_cert=certificate(KEY), ssl_key=key)
        assert key.splitlines()[1] not in text(answer)
        assert problems(answer, "ssl_key") == "The page does not repeat a private key. Paste the key again."
        self.send(browser, label="edge", protocol="https", ssl_cert=certificate(KEY), ssl_key=key)
        assert NodeBalancerConfig.objects.get().ssl_commonname == "www.example.com"

    def test_needs_the_grant_and_leaves_tags_to_unrestricted_users(self, balancer):
        assert restricted_to(balancer, "read_write").get(NEW).status_code == 403
        browser = restricted_to(balancer, add_nodebalancers=True)
        assert "tags" not in browser.get(NEW).context["form"].fields
        self.send(browser, label="own", tags="web")
        assert NodeBalancer.objects.get(label="own").tags == []


class TestOverview:
    def test_shows_configs_with_nodes_and_links_to_their_instances(self, browser, balancer, instance):
        config = add_config(balancer, instance, port=8443)
        shown = text(browser.get(page_of(balancer)))
        for part in (balancer.hostname, balancer.ipv4, "Port 8443, HTTP", "1 DOWN", config.nodes.first().address):
            assert part in shown, part
        assert f'href="{reverse("instance", args=[instance.pk])}">web-1</a>' in shown

    def test_a_reader_sees_no_verbs_and_no_instance_without_a_grant(self, balancer, instance):
        add_config(balancer, instance)
        shown = text(restricted_to(balancer).get(page_of(balancer)))
        assert "not visible to you" in shown
        assert "web-1" not in shown
        assert "Add node" not in shown
        assert "dropdown-item" not in shown[shown.index('id="part"') :]
        assert "/settings" not in shown

    def test_rebuild_needs_the_grant_of_the_account(self, balancer, instance):
        add_config(balancer, instance)
        assert ">Rebuild</a>" not in text(restricted_to(balancer, "read_write").get(page_of(balancer)))
        may = restricted_to(balancer, "read_write", add_nodebalancers=True)
        assert ">Rebuild</a>" in text(may.get(page_of(balancer)))

    def test_the_part_is_sent_again_when_the_health_of_a_node_changes(self, browser, balancer, instance):
        config = add_config(balancer, instance)
        shown = text(browser.get(page_of(balancer)))
        seen = re.search(r'id="part" data-live hx-get="\?seen=([^"]+)"', shown)[1]
        assert browser.get(page_of(balancer), {"seen": seen}, headers=HTMX).status_code == 204
        config.nodes.update(status=NodeBalancerNode.Status.DOWN)
        changed = text(browser.get(page_of(balancer), {"seen": seen}, headers=HTMX))
        assert changed.startswith('<div id="part"')
        assert "3 DOWN" in changed

    def test_open_pages_of_a_deleted_one_lead_to_the_list(self, browser, balancer):
        NodeBalancer.objects.all().delete()
        assert browser.get(page_of(balancer)).status_code == 404
        assert browser.get(page_of(balancer), headers=HTMX)["HX-Redirect"] == LIST
        assert "This load balancer has been deleted" in text(browser.get(LIST))

    def test_strangers_find_nothing(self, stranger, balancer):
        for page in ("", "/graphs", "/settings", "/delete", "/configs/new"):
            assert signed_in(stranger).get(page_of(balancer, page)).status_code == 404


class TestGraphs:
    def test_without_samples_the_page_says_so(self, browser, balancer):
        assert "Stats are unavailable at this time." in text(browser.get(page_of(balancer, "/graphs")))

    def test_shows_connections_and_traffic_in_fitting_units(self, browser, world, instance):
        made = add_balancer(world.account, world.region, instance)
        shown = text(browser.get(page_of(made, "/graphs"), headers=HTMX))
        assert shown.startswith('<div id="graphs">')
        assert "Connections: 1.5 connections/s on average, at most 2.5 connections/s" in shown
        assert "Traffic, Mbit/s" in shown

    def test_samples_stand_at_their_times_with_gaps_between_them(self):
        at = now().replace(minute=5, second=0, microsecond=0)
        points = [[(at + timedelta(minutes=minutes)).timestamp() * 1000, minutes] for minutes in (0, 5, 15)]
        assert on_grid(points) == (at, [0, 5, None, 15])


class TestSettings:
    def test_saves_label_limit_and_tags(self, browser, balancer):
        where = page_of(balancer, "/settings")
        fields = {**form_of(browser.get(where)), "label": "core", "client_conn_throttle": 20, "tags": "web, europe"}
        assert "The settings were saved." in text(browser.post(where, fields, follow=True))
        balancer.refresh_from_db()
        assert (balancer.label, balancer.client_conn_throttle, balancer.tags) == ("core", 20, ["web", "europe"])
        assert actions(balancer) == ["nodebalancer_update"]

    def test_each_refusal_stands_at_its_field(self, browser, balancer):
        answer = browser.post(
            page_of(balancer, "/settings"), {"label": "", "client_conn_throttle": "", "tags": "x"}
        )
        for name in ("label", "client_conn_throttle", "tags"):
            assert problems(answer, name), name
        assert actions() == []

    def test_a_reader_is_refused(self, balancer):
        for page in ("/settings", "/delete"):
            assert restricted_to(balancer).post(page_of(balancer, page)).status_code == 403
        writer = restricted_to(balancer, "read_write")
        assert "tags" not in writer.get(page_of(balancer, "/settings")).context["form"].fields


class TestDeleting:
    def test_asks_first_and_names_the_configs_and_nodes(self, browser, balancer, instance):
        add_config(balancer, instance)
        assert "with 1 config and 3 nodes" in text(browser.get(page_of(balancer, "/delete")))
        shown = text(browser.post(page_of(balancer, "/delete"), follow=True))
        assert "The load balancer edge was deleted." in shown
        assert not NodeBalancer.objects.exists()
        assert actions() == ["nodebalancer_delete"]
        assert browser.post(page_of(balancer, "/delete")).status_code == 404
