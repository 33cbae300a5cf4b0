"""Lists as CSV."""

import csv
from io import StringIO

import pytest
from django.contrib import admin as django_admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Account, User
from compute.models import Instance, Job
from config.admin import export
from tests.config.admin.pages import list_address

pytestmark = pytest.mark.django_db


def exported(browser: Client, model, **filters) -> list[list[str]]:
    response = browser.get(f"{list_address(model)}csv/", filters)
    assert response.status_code == 200
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"].startswith("attachment")
    return list(csv.reader(StringIO(response.content.decode())))


def test_every_list_is_had_as_a_file(admin, everything):
    for model in django_admin.site._registry:
        lines = exported(admin, model)
        assert len(lines) > 1, model
        assert len({len(line) for line in lines}) == 1, model
        assert not any("<" in cell and ">" in cell for line in lines for cell in line), model


def test_a_file_has_the_rows_of_the_list(admin, running, world):
    world.create(label="web-2")
    titles, *rows = exported(admin, Instance, q="web-1")
    assert titles[:3] == ["id", "ID", "label"]
    assert [row[2] for row in rows] == ["web-1"]
    assert rows[0][3] == "running"
    assert len(exported(admin, Instance)) == 3
    assert len(exported(admin, Instance, status__exact="running")) == 2


@pytest.mark.parametrize("label", ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)"])
def test_no_cell_is_a_formula(label, admin, account):
    Account.objects.filter(pk=account.pk).update(company=label)
    cells = [cell for row in exported(admin, Account) for cell in row]
    assert f"'{label}" in cells
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


def test_texts_are_as_they_were_written(admin, account):
    Account.objects.filter(pk=account.pk).update(company="Web <prod> & Sons &amp;")
    assert "Web <prod> & Sons &amp;" in [cell for row in exported(admin, Account) for cell in row]


def test_an_export_needs_the_view_permission(running, outsider):
    user = User.objects.create_user("newcomer", "new@example.com", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_instance"))
    browser = Client()
    browser.force_login(user)
    assert exported(browser, Instance)
    assert browser.get(f"{list_address(Account)}csv/").status_code == 403
    assert outsider.get(f"{list_address(Instance)}csv/").status_code == 302


@pytest.mark.parametrize(("name", "value"), [("id__exact", "x"), ("status__exact", "\0")])
def test_a_filter_of_a_wrong_value_leads_back_to_the_list(name, value, admin, running):
    response = admin.get(f"{list_address(Instance)}csv/", {name: value})
    assert response["Location"] == f"{list_address(Instance)}?e=1"
    assert not LogEntry.objects.exists()


def test_an_export_is_logged_with_its_list_filters_and_rows(admin, staff, running, world):
    world.create(label="web-2")
    exported(admin, Instance, q="web-1", status__exact="running")
    exported(admin, Instance)
    filtered, whole = LogEntry.objects.order_by("pk")
    assert filtered.user == whole.user == staff
    assert filtered.content_type.model_class() is Instance
    assert filtered.object_repr == "list of instances"
    assert filtered.change_message == "CSV: 1 row, q='web-1', status__exact='running'."
    assert whole.change_message == "CSV: 2 rows, the whole list."
    page = admin.get(list_address(LogEntry)).content.decode()
    assert "list of instances" in page
    assert "CSV: 2 rows, the whole list." in page
    assert admin.get(reverse("admin:index")).status_code == 200


def test_all_values_of_a_filter_are_logged(admin, running, world):
    """The list treats the values as alternatives. A log of the last value alone would show fewer rows."""
    world.create(label="web-2")
    assert len(exported(admin, Instance, label__exact=["web-1", "web-2"])) == 3
    assert LogEntry.objects.get().change_message == "CSV: 2 rows, label__exact='web-1', label__exact='web-2'."


def test_long_filters_are_cut_off_and_marked(admin, running):
    exported(admin, Instance, q="w" * 3000)
    message = LogEntry.objects.get().change_message
    assert message.startswith("CSV: 0 rows, q='www")
    assert message.endswith("w….")
    assert len(message) < 1100


def test_an_error_in_a_column_is_not_reported_as_a_bad_filter(admin, running, monkeypatch):
    def fail(*arguments):
        raise ValueError("the column's own fault")

    monkeypatch.setattr(export.ExportMixin, "_text", fail)
    with pytest.raises(ValueError, match="the column's own fault"):
        admin.get(f"{list_address(Instance)}csv/")
    assert not LogEntry.objects.exists()


def test_an_export_that_cannot_be_logged_fails(admin, running, monkeypatch):
    def refuse(**columns):
        raise RuntimeError("no room")

    monkeypatch.setattr(LogEntry.objects, "create", refuse)
    with pytest.raises(RuntimeError):
        admin.get(f"{list_address(Instance)}csv/")


def test_a_file_costs_the_same_however_long(admin, world):
    def cost(model) -> int:
        with CaptureQueriesContext(connection) as queries:
            exported(admin, model)
        return len(queries)

    world.create()
    models = (Instance, Job, Account, User)
    few = [cost(model) for model in models for _ in range(2)][1::2]
    for number in range(4):
        world.create()
        User.objects.create_user(f"user-{number}", f"u{number}@example.com", account=world.account)
    assert [cost(model) for model in models] == few


def test_a_long_list_is_cut_off_and_says_so(admin, world, monkeypatch):
    monkeypatch.setattr(export, "MAX_ROWS", 2)
    for number in range(4):
        world.create(label=f"many-{number}")
    lines = exported(admin, Instance)
    assert len(lines) == 4
    assert lines[-1] == ["The list has more rows. This file has only the first 2."]
    assert LogEntry.objects.get().change_message.startswith("CSV: 2 rows")
