"""Access to the admin. Every page opens, at a fixed number of queries."""

import re

import pytest
from django.contrib import admin as django_admin
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Account, PersonalToken, User
from compute.models import Address, Instance, Job, Volume
from compute.services.instances import power
from compute.worker import engine
from tests.config.admin.pages import list_address, page_address
from tests.factories import VolumeFactory

pytestmark = pytest.mark.django_db

MODELS = [pytest.param(model, id=model._meta.label) for model in django_admin.site._registry]


def test_admin_is_found_without_a_slash(client, db):
    assert client.get("/admin").headers["Location"] == "/admin/"


IN_LINE = re.compile(
    r"<script(?![^>]* src=)(?![^>]*type=.application/json)|<style|<[^>]+ (style|on[a-z]+)=", re.IGNORECASE
)


def is_served_by_policy(page) -> None:
    """Check that scripts and styles of the page are files of ours. Browsers ignore others because of the
    policy."""
    assert page.status_code == 200
    rules = dict(each.split(" ", 1) for each in page["Content-Security-Policy"].split("; "))
    assert (rules["default-src"], rules["script-src"], rules["style-src"]) == ("'none'", "'self'", "'self'")
    assert rules["form-action"] == "'self'"
    assert "camera=()" in page["Permissions-Policy"]
    assert not IN_LINE.search(page.content.decode())


@pytest.mark.parametrize("model", MODELS)
def test_customers_and_strangers_are_kept_out(model, outsider, client):
    for browser in (outsider, client):
        response = browser.get(list_address(model))
        assert response.status_code == 302
        assert "/admin/login/" in response.headers["Location"]


@pytest.mark.parametrize("model", MODELS)
def test_every_list_opens(model, admin, everything):
    is_served_by_policy(admin.get(list_address(model)))
    assert admin.get(list_address(model), {"q": "web"}).status_code == 200
    assert admin.get(list_address(model), {"q": "1"}).status_code == 200


@pytest.mark.parametrize("model", MODELS)
def test_every_filter_opens(model, admin, everything):
    page = admin.get(list_address(model))
    changelist = page.context["cl"]
    for spec in changelist.filter_specs:
        for choice in list(spec.choices(changelist))[:4]:
            assert admin.get(list_address(model) + choice["query_string"]).status_code == 200


@pytest.mark.django_db(transaction=True)  # the refusal must not end the test's own transaction
@pytest.mark.parametrize("query", [{"label__exact": "\0"}, {"tags": "x"}, {"ipv4__exact": "1"}, {"id__exact": "x"}])
def test_a_filter_of_a_wrong_value_shows_the_whole_list(query, admin, running):
    response = admin.get(list_address(Instance), query, follow=True)
    assert response.status_code == 200
    assert response.redirect_chain == [(f"{list_address(Instance)}?e=1", 302)]
    assert admin.get(list_address(Address), {"gateway": "x"})["Location"] == f"{list_address(Address)}?e=1"


@pytest.mark.parametrize("model", MODELS)
def test_every_page_and_history_opens(model, admin, everything):
    obj = model._default_manager.first()
    assert obj is not None, "everything has none of them"
    is_served_by_policy(admin.get(page_address(obj)))
    is_served_by_policy(admin.get(page_address(obj).replace("/change/", "/history/")))


@pytest.mark.parametrize("model", MODELS)
def test_an_onlooker_sees_everything_and_can_do_nothing(model, onlooker, everything):
    logged = LogEntry.objects.count()
    page = onlooker.get(list_address(model))
    assert page.status_code == 200
    assert not page.context["cl"].model_admin.get_actions(page.wsgi_request)
    obj = model._default_manager.first()
    opened = onlooker.get(page_address(obj))
    assert opened.status_code == 200
    assert not opened.context.get("verbs")
    assert not opened.context.get("open_forms")
    for verb in getattr(page.context["cl"].model_admin, "verbs", ()):
        address = page_address(obj).replace("/change/", f"/do/{verb.name}/")
        assert onlooker.post(address, {"confirmed": "yes"}).status_code == 403
    assert LogEntry.objects.count() == logged


@pytest.mark.parametrize("model", [Instance, Job, Account, User, PersonalToken, Volume])
def test_lists_cost_the_same_however_long(model, admin, world):
    def cost() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert admin.get(list_address(model)).status_code == 200
        return len(queries)

    populate(world, 1)
    cost()  # content types and the like are cached from here on
    few = cost()
    populate(world, 6)
    assert cost() == few


def populate(world, number: int) -> None:
    for _ in range(number):
        count = User.objects.count()
        account = Account.objects.create(email=f"a{count}@example.com")
        user = User.objects.create_user(f"user{count}", f"u{count}@example.com", account=account)
        PersonalToken.objects.create(user=user, label="x", digest=f"{count:064}", prefix=f"{count:016}")
        VolumeFactory(account=account, instance=world.create(private_ip=True))


def test_an_instances_page_costs_the_same_however_much_happened(admin, running, world, driver):
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert admin.get(page_address(running)).status_code == 200
        return len(queries)

    cost()
    few = cost()
    for _ in range(3):
        running.refresh_from_db()
        engine.run(power.reboot(world.actor, running).pk, driver)
    assert cost() <= few
