"""The first page of the admin and its side bar group all entries by the task of staff."""

import re

import pytest
from django.contrib import admin as django_admin
from django.urls import reverse

from config.admin.tasks import Task
from tests.config.admin.pages import list_address, page_address
from tests.factories import HostFactory, UserFactory

REGISTERED = django_admin.site._registry
GROUP = re.compile(
    r'<div class="app-\w+ module" id="(\w+)">\s*<table>\s*<caption>(.*?)</caption>(.*?)</table>', re.DOTALL
)
TRAIL = re.compile(r'<div class="breadcrumbs">(.*?)</div>', re.DOTALL)
STEP = re.compile(r'<a href="([^"]*)">([^<]*)</a>|<span aria-current="page">([^<]*)</span>')


def trail_of(response) -> list[tuple[str, str]]:
    """The steps of the way to a page, each with its address. The page itself, which is last, has none."""
    (found,) = TRAIL.findall(response.content.decode())
    return [(name or here, address) for address, name, here in STEP.findall(found)]


@pytest.mark.parametrize("model", REGISTERED, ids=lambda model: model._meta.label)
def test_every_page_has_a_task(model):
    assert REGISTERED[model].task in Task


@pytest.mark.django_db
def test_the_first_page_has_a_group_for_each_task(admin):
    page = admin.get(reverse("admin:index")).content.decode()
    groups = GROUP.findall(page.partition('id="content-main"')[2])
    assert [(name, title) for name, title, _ in groups] == Task.choices
    assert sum(entries.count('<th scope="row"') for _, _, entries in groups) == len(REGISTERED)
    machines = next(entries for name, _, entries in groups if name == Task.MACHINES)
    assert f'href="{reverse("admin:compute_host_changelist")}"' in machines


@pytest.mark.django_db
def test_the_index_sends_staff_without_a_role_to_a_superuser(admin, staff):
    staff.is_superuser = False
    staff.save()
    assert "Ask a superuser for a role." in admin.get(reverse("admin:index")).content.decode()


@pytest.mark.django_db
def test_the_way_to_a_page_leads_through_its_task(admin):
    host = HostFactory(label="hv7")
    home = reverse("admin:index")
    start = [("Home", home), ("Machines", f"{home}#machines")]
    hosts, page = ("Hosts", list_address(host)), page_address(host)
    assert trail_of(admin.get(list_address(host))) == [*start, ("Hosts", "")]
    assert trail_of(admin.get(reverse("admin:compute_host_add"))) == [*start, hosts, ("Add", "")]
    assert trail_of(admin.get(page)) == [*start, hosts, ("hv7", "")]
    assert trail_of(admin.get(page.replace("/change/", "/history/"))) == [
        *start,
        hosts,
        ("hv7", page),
        ("History", ""),
    ]
    asked = admin.post(page.replace("/change/", "/do/begin-maintenance/"))
    assert trail_of(asked) == [*start, hosts, ("hv7", page), ("Begin maintenance", "")]
    selected = admin.post(list_address(host), {"action": "begin-maintenance", "_selected_action": [host.pk]})
    assert trail_of(selected) == [*start, hosts, ("Begin maintenance", "")]


@pytest.mark.django_db
def test_the_way_to_a_password_leads_through_the_user(admin):
    user = UserFactory(username="kari")
    way = trail_of(admin.get(reverse("admin:auth_user_password_change", args=[user.pk])))
    assert way[1:3] == [("Customers", f"{reverse('admin:index')}#customers"), ("Users", list_address(user))]
    assert way[3] == ("kari", page_address(user))


@pytest.mark.django_db
def test_a_window_for_choosing_an_object_has_no_breadcrumbs(admin):
    assert not TRAIL.search(admin.get(reverse("admin:compute_host_changelist"), {"_popup": 1}).content.decode())
