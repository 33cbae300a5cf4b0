"""The first page of the admin and its side bar group all entries by the task of staff."""

import re

import pytest
from django.contrib import admin as django_admin
from django.urls import reverse

from config.admin.tasks import Task

REGISTERED = django_admin.site._registry
GROUP = re.compile(
    r'<div class="app-\w+ module" id="(\w+)">\s*<table>\s*<caption>(.*?)</caption>(.*?)</table>', re.DOTALL
)


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
def test_staff_without_a_role_are_told_where_to_get_one(admin, staff):
    staff.is_superuser = False
    staff.save()
    assert "Ask a superuser for a role." in admin.get(reverse("admin:index")).content.decode()
