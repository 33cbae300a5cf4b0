"""Lists of things with an account or a host can be filtered by it, and show the age of each row."""

from datetime import timedelta

import pytest
from django.contrib import admin as django_admin
from django.core.exceptions import FieldDoesNotExist
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from accounts.admin.filters import AccountFilter
from accounts.models import Account, Event, PersonalToken, TokenLink, User
from compute.models import Backup, Firewall, Image, Instance, Job, Volume
from config.admin.value_formats import age
from managed.models import Service
from tests.config.admin.pages import list_address
from tests.factories import AccountFactory, HostFactory, UserFactory, VolumeFactory

pytestmark = pytest.mark.django_db

PATHS = ("account", "user__account", "instance__account")
OTHERWISE = {"admin.LogEntry", "compute.Job", "compute.AddressShare", "compute.RangeShare", "compute.Drift"}
"""Lists that need no filter by account, have one of their own, or have a handful of rows."""
OWNED = [
    model for model in django_admin.site._registry
    if any(name in {each.name for each in model._meta.fields} for name in ("account", "user", "instance"))
    and model._meta.label not in OTHERWISE
]  # fmt: skip


def rows(answer) -> list:
    assert answer.status_code == 200
    return list(answer.context["cl"].result_list)


def filter_of(answer) -> AccountFilter:
    return next(each for each in answer.context["cl"].filter_specs if isinstance(each, AccountFilter))


@pytest.mark.parametrize("model", OWNED, ids=lambda model: model._meta.label)
def test_every_list_of_objects_of_accounts_is_filtered_by_account(model, admin, everything):
    theirs, other = everything.account, AccountFactory(company="Others")
    whole = rows(admin.get(list_address(model)))
    assert whole, "everything has none of them"
    path = filter_of(admin.get(list_address(model))).path
    found = rows(admin.get(list_address(model), {"account": str(theirs.pk)}))
    assert {row.pk for row in found} == set(
        model._default_manager.filter(**{path: theirs}).values_list("pk", flat=True)
    )
    assert found or model in (User, Image), "everything has some of the account"
    assert not rows(admin.get(list_address(model), {"account": str(other.pk)}))


@pytest.mark.parametrize("term", ["Others", "others", "ops@others.example", "Kari", " {pk} "])
def test_an_account_is_found_by_its_names(term, admin, everything):
    other = AccountFactory(company="Others", email="ops@others.example")
    UserFactory(account=other, username="kari")
    mine = VolumeFactory(account=other)
    answer = admin.get(list_address(Volume), {"account": term.format(pk=other.pk)})
    assert rows(answer) == [mine]
    assert "Others" in answer.content.decode()


@pytest.mark.parametrize("term", ["nobody", "0", "9" * 30, "%", "'"])
def test_where_no_account_is_called_so_nothing_is_listed(term, admin, everything):
    answer = admin.get(list_address(Volume), {"account": term})
    assert rows(answer) == []
    assert "no account found for" in answer.content.decode()


@pytest.mark.django_db(transaction=True)  # the refusal must not end the test's own transaction
def test_an_impossible_filter_value_is_no_server_error(admin, world):
    answer = admin.get(list_address(Volume), {"account": "\0"})
    assert answer.status_code in (302, 400)


def test_the_box_shows_where_a_link_came_from_and_keeps_the_other_filters(admin, everything):
    account = everything.account
    by_link = {"account__id__exact": str(account.pk), "status__exact": "active", "q": "web"}
    found = filter_of(admin.get(list_address(Volume), by_link))
    assert found.typed == str(account.pk)
    assert found.others == [("status__exact", "active"), ("q", "web")]
    all_of_them, chosen = found.choices(admin.get(list_address(Volume), by_link).context["cl"])
    assert "account" not in all_of_them["query_string"]
    assert chosen["display"] == str(account)


@pytest.mark.parametrize("model", [Instance, Volume, Backup])
def test_lists_of_objects_on_hosts_are_filtered_by_host(model, admin, everything):
    VolumeFactory(account=everything.account, instance=everything)
    path = "host" if model is Instance else "instance__host"
    there = rows(admin.get(list_address(model), {f"{path}__id__exact": str(everything.host_id)}))
    assert there == list(model._default_manager.filter(**{path: everything.host}).order_by("-pk"))
    assert there
    other = HostFactory(region=everything.region)
    assert not rows(admin.get(list_address(model), {f"{path}__id__exact": str(other.pk)}))
    assert "By host" in admin.get(list_address(model)).content.decode()


@pytest.mark.parametrize("model", [Event, Firewall, Image, Instance, Job, PersonalToken, Service, Volume])
def test_lists_say_how_old_each_row_is(model, admin, everything):
    VolumeFactory(account=everything.account)
    model._default_manager.update(created=now() - timedelta(hours=3, minutes=5))
    assert ">3 h 5 min</time>" in admin.get(list_address(model)).content.decode()


def test_the_time_is_shown_with_its_age():
    born = now() - timedelta(days=2)
    assert age(born) == f'<time datetime="{born.isoformat()}" title="{born:%Y-%m-%d %H:%M:%S}">2 d</time>'


@pytest.mark.parametrize("model", [Volume, Event, Firewall, TokenLink, Service])
def test_a_filtered_list_costs_the_same_however_long(model, admin, everything):
    asked = {"account": everything.account.company or everything.account.email}

    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert admin.get(list_address(model), asked).status_code == 200
        return len(queries)

    cost()
    few = cost()
    copy = model._default_manager.filter(**{f"{filter_path(model)}": everything.account}).latest("pk")
    for number in range(5):
        copy.pk = None
        if hasattr(copy, "digest"):
            copy.digest = f"{number:064}"
        if hasattr(copy, "label"):
            copy.label = f"{copy.label}{number}"[-30:]
        copy.save(force_insert=True)
    assert cost() == few


def filter_path(model) -> str:
    try:
        model._meta.get_field("account")
    except FieldDoesNotExist:
        return "user__account"
    return "account"


def test_an_account_of_no_rows_is_still_one(admin, everything):
    Account.objects.create(email="empty@example.com", company="Empty")
    answer = admin.get(list_address(Firewall), {"account": "Empty"})
    assert rows(answer) == []
    assert filter_of(answer).found[0].company == "Empty"
