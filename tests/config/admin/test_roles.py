"""The permissions of each role of staff, as found by requests: docs/roles.txt."""

from io import StringIO
from pathlib import Path

import pytest
from django.contrib import admin as django_admin
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import User
from compute.models import Instance, Job
from config.admin import roles
from config.admin.verbs import VerbsMixin
from tests.baselines import compared_with
from tests.config.admin.pages import do, list_address, page_address

pytestmark = pytest.mark.django_db

TABLE = Path(__file__).resolve().parents[3] / "docs" / "roles.txt"
LEGEND = """\
Each line without indentation is a kind of object in the admin, and says whether a role may see, add and change it.
The indented lines below it are the buttons of its pages. Superusers may do everything, staff without a role may do
nothing. Tests write this file from real requests, and compare it with them.
"""
NOBODY = "0"
"""A key that no row has. A user with the permission for a verb gets a message, and nothing happens."""


@pytest.fixture
def browsers() -> dict[str, Client]:
    """Return a browser for each role. Its user has that role alone."""
    roles.sync()
    found = {}
    for role in roles.ROLES:
        user = User.objects.create_user(f"one-of-{role}", "one@example.com", "a-password", is_staff=True)
        user.groups.set([Group.objects.get(name=role)])
        found[role] = Client()
        found[role].force_login(user)
    return found


def address_of(model, name: str, *args: str) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{name}", args=args)


def may_see(browser: Client, model) -> bool:
    return browser.get(list_address(model)).status_code == 200


def may_add(browser: Client, model) -> bool:
    return browser.get(address_of(model, "add")).status_code == 200


def may_change(browser: Client, obj) -> bool:
    return browser.get(page_address(obj)).context["has_change_permission"]


def may_do(browser: Client, model, verb: str) -> bool:
    return browser.post(address_of(model, "do", NOBODY, verb), {"confirmed": "yes"}).status_code != 403


def pages_of(browser: Client, model, obj) -> str:
    asked = {"see": may_see(browser, model), "add": may_add(browser, model), "change": may_change(browser, obj)}
    return " ".join(name for name, may in asked.items() if may) or "-"


def test_the_table_has_the_permissions_of_each_role(browsers, everything, monkeypatch, write_baselines):
    monkeypatch.setattr(
        django_admin.site, "get_app_list", lambda request, app_label=None: []
    )  # takes most of a page's time
    rows: list[tuple[str, list[str]]] = []
    for model, page in sorted(django_admin.site._registry.items(), key=lambda item: item[0]._meta.label_lower):
        obj = model._default_manager.first()
        assert obj is not None
        rows.append((str(model._meta), [pages_of(browser, model, obj) for browser in browsers.values()]))
        for verb in page.verbs if isinstance(page, VerbsMixin) else ():
            may = [may_do(browser, model, verb.name) for browser in browsers.values()]
            rows.append((f"    {verb.label}", ["yes" if each else "-" for each in may]))
    an_auditors = {cells[[*browsers].index(roles.AUDITOR)] for _, cells in rows}
    assert an_auditors == {"see", "-"}, "an auditor sees every page and changes nothing"
    lines = [line_of(name, cells) for name, cells in [("", [*browsers]), *rows]]
    compared_with(TABLE, [*LEGEND.splitlines(), "", *lines], write_baselines)


def line_of(name: str, cells: list[str]) -> str:
    return f"{name:30}{''.join(f'{cell:<17}' for cell in cells)}".rstrip()


def test_support_boots_an_instance_and_leaves_jobs_alone(browsers, running):
    support = browsers[roles.SUPPORT]
    do(support, running, "reboot")
    job = Job.objects.get(kind="reboot")
    assert job.created_by == "one-of-support"
    assert support.post(page_address(job).replace("/change/", "/do/cancel/")).status_code == 403
    assert support.post(page_address(running).replace("/change/", "/do/delete/")).status_code == 403
    assert Instance.objects.filter(pk=running.pk).exists()


def test_no_role_gives_roles_or_touches_staff(browsers, staff):
    other = User.objects.create_user("newcomer", "new@example.com", "a-password", is_staff=True)
    for browser in browsers.values():
        assert not may_change(browser, staff)
        assert not may_change(browser, other)
        assert browser.post(page_address(other).replace("/change/", "/do/suspend/")).status_code == 403


def test_support_cannot_make_a_customer_a_member_of_staff(browsers, owner):
    page = browsers[roles.SUPPORT].get(page_address(owner))
    assert page.context["has_change_permission"]
    assert (
        not {"is_staff", "is_superuser", "groups", "user_permissions"}
        & page.context["adminform"].form.fields.keys()
    )


def test_a_migration_makes_the_roles_again_and_leaves_all_else():
    roles.sync()
    own = Group.objects.create(name="night shift")
    own.permissions.set(Permission.objects.filter(codename="change_job"))
    support = Group.objects.get(name=roles.SUPPORT)
    member = User.objects.create_user("ann", "ann@example.com", is_staff=True)
    member.groups.set([support, own])
    support.permissions.set(Permission.objects.filter(codename="delete_host"))
    Group.objects.get(name=roles.AUDITOR).delete()

    call_command("migrate", verbosity=0, stdout=StringIO())

    granted = {(each.content_type.app_label, each.codename) for each in support.permissions.all()}
    assert granted == roles.permissions_of(roles.SUPPORT)
    assert ("compute", "delete_host") not in granted
    assert Group.objects.filter(name=roles.AUDITOR).exists()
    assert [each.codename for each in own.permissions.all()] == ["change_job"]
    assert set(member.groups.all()) == {support, own}


def test_roles_that_are_right_are_not_written():
    roles.sync()
    with CaptureQueriesContext(connection) as queries:
        roles.sync()
    assert not [each["sql"] for each in queries if each["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]


def test_the_platforms_groups_are_not_changed_by_hand(admin):
    roles.sync()
    support, own = Group.objects.get(name=roles.SUPPORT), Group.objects.create(name="night shift")
    assert not may_change(admin, support)
    assert may_change(admin, own)
    selected = {"action": "delete_selected", "_selected_action": [support.pk, own.pk], "post": "yes"}
    admin.post(list_address(Group), selected)
    assert Group.objects.filter(pk=support.pk).exists()


def test_content_types_remembered_of_another_database_are_not_used():
    roles.sync()
    Group.objects.get(name=roles.OPERATOR).permissions.clear()
    ContentType.objects.get_for_model(Instance).pk = 10**6  # the cached object that the whole process shares
    roles.sync()
    codes = Group.objects.get(name=roles.OPERATOR).permissions.values_list("codename", flat=True)
    assert "change_instance" in codes
