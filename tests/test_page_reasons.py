"""Reasons on pages have the words of pages: labels of forms in place of field names, and no nouns of the API."""

import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module

import pytest
from django import forms

import accounts.pages
import compute.pages
import managed.pages
import tags.pages
from config.errors import Busy, Invalid, Problem
from config.pages.forms import ListField, TagsField, TextField, add_problems
from config.pages.reasons import INSTEAD, MAX_ENTRY, NAMES, reason_on_page
from config.pages.views import ServiceFormView
from config.word import quoted
from tests.page_world import VIEWS
from tests.refusals import PAGE, ROW, Refusal, collected, covers, reasons_of

FORMS: dict[str, type[forms.Form]] = {
    f"{form.__module__}.{name}": form
    for pages in (accounts.pages, compute.pages, managed.pages, tags.pages)
    for module in pkgutil.walk_packages(pages.__path__, f"{pages.__name__}.")
    for name, form in vars(import_module(module.name)).items()
    if isinstance(form, type) and issubclass(form, forms.Form) and form.__module__ == module.name
}
"""The forms of all pages."""
OF_REQUESTS = re.compile(r"\w_\w|\b(compute|nodebalancer|rdns|stackscript|thumbnail)s?\b|/(profile|account)/", re.I)
"""Names of fields, nouns and paths of the API."""
VARIES = re.compile(r"<[^<>]*>")
FOR_STAFF = ("for staff", "for the command line")


def shown(form_class: type[forms.Form], reason: str, field: str | None) -> str:
    """Return a reason as a form shows it."""
    form = forms.Form({})
    form.fields = dict(form_class.base_fields)
    form.full_clean()
    before = len(form.errors.as_data())
    add_problems(form, Invalid(VARIES.sub("7", reason), field and VARIES.sub("0", field)))
    assert len(form.errors.as_data()) >= before
    return next(str(error) for errors in form.errors.values() for error in reversed(errors))


def refusals_of(form_class: type[forms.Form], services: list[Refusal]) -> Iterator[tuple[str, str | None]]:
    """Yield the reasons that a form can show, each with the field: those of its body, and those of services."""
    names = form_class.base_fields
    if body := getattr(form_class, "body", None):
        yield from ((reason, path) for path, reason in reasons_of(body()))
    for each in services:
        for field in each.field.split(" or "):
            if not field or field in names or field.startswith("<"):
                yield each.reason, field if field in names else None


@pytest.fixture(scope="module")
def services() -> list[Refusal]:
    """Return the reasons of services, without those for staff and those about requests as such."""
    for_staff = [row["reason"] for row in ROW.finditer(PAGE.read_text()) if row["advice"].startswith(FOR_STAFF)]
    return [
        each
        for each in dict.fromkeys(collected()[0])
        if not each.module.startswith("config/") and not any(covers(row, each.reason) for row in for_staff)
    ]


def test_no_form_shows_a_name_of_the_api(services):
    shown_on_pages = {view.form_class for _, view in VIEWS.values() if issubclass(view, ServiceFormView)}
    assert shown_on_pages - {forms.Form, None} <= {*FORMS.values()}
    found = {
        text
        for form in FORMS.values()
        for reason, field in dict.fromkeys(refusals_of(form, services))
        if OF_REQUESTS.search(text := shown(form, reason, field))
    }
    assert found == set()


class Example(forms.Form):
    soa_email = TextField(label="Email of the administrator")
    tags = TagsField()
    images = ListField(label="Images", choices=[("Own", [("private/1", "Shop")])])

    def as_shown(self, reason: str, field: str | None = None) -> list[str]:
        self.full_clean()
        add_problems(self, Invalid(reason, field))
        return [str(error) for errors in self.errors.values() for error in errors]


@pytest.mark.parametrize(
    ("reason", "field", "text"),
    [
        ("soa_email is not valid", "soa_email", '"Email of the administrator" is not valid'),
        ("Length must be 3-50 characters", "tags[1]", '"ab": Length must be 3-50 characters'),
        ("tags is not valid", "tags[1]", '"ab" is not valid'),
        ("tags must be at most 10 items", "tags", "Tags must be at most 10 items"),
        ("A public script needs public images.", "images[0]", '"Shop": A public script needs public images.'),
        ("region_id is required", "region_id", "Region is required"),
        ("region is for soa_email only.", "region", 'Region is for "Email of the administrator" only.'),
        ("config_id is for disk_id only.", None, "Config is for a disk only."),
        ("Compute is off. A compute of the computes-1.", None, "Instance is off. An instance of the computes-1."),
        ("Address of a nodebalancer", "label", "Address of a load balancer"),
        ("my_name has no SSH key on the profile", "authorized_users[0]", "my_name has no SSH key on the profile"),
        (f"{quoted('compute')} has no SSH key", "authorized_users[0]", "compute has no SSH key"),
        (f"{quoted('tags')} has no SSH key", "authorized_users[0]", "tags has no SSH key"),
        (f"the name {quoted('rdns')} of a compute.", "region", "the name rdns of an instance."),
        (f"A compute has no {quoted('compute_id')}", None, "An instance has no compute_id"),
        (f"{quoted('stackscript_data.rdns')} is required", "stackscript_data.rdns", '"rdns" is required'),
        (f"{quoted('private/1')} is not valid", "images[0]", '"Shop": private/1 is not valid'),
    ],
)  # fmt: skip
def test_a_reason_names_labels_and_entries(reason, field, text):
    form = Example({"tags": "web, ab", "images": ["private/1"], "soa_email": "x"})
    assert form.as_shown(reason, field) == [text]


def test_a_reason_in_a_row_names_the_row_s_own_fields():
    rows = {f"interfaces[{row}].ipam_address": TextField(label=f"Address of eth{row}") for row in range(3)}
    at = "interfaces[1].ipam_address"
    problem = Problem("A public interface has no ipam_address.", at)
    assert reason_on_page(problem, at, rows) == 'A public interface has no "Address of eth1".'


def test_a_long_entry_is_shortened():
    (text,) = Example({"tags": "a" * 99}).as_shown("Length must be 3-50 characters", "tags[0]")
    assert text == f'"{"a" * MAX_ENTRY}…": Length must be 3-50 characters'


def test_a_busy_instance_is_explained():
    assert reason_on_page(Busy().problems[0]) == INSTEAD["Compute busy."]


def test_every_replaced_reason_and_name_is_one_of_the_api(services):
    reasons = [each.reason for each in services] + [row["reason"] for row in ROW.finditer(PAGE.read_text())]
    assert {old for old in INSTEAD if not any(covers(reason, old) for reason in reasons)} == set()
    assert {name for name in NAMES if not any(name in reason for reason in reasons)} == set()


def test_the_api_keeps_its_reasons():
    assert Problem("soa_email is not valid", "soa_email").reason == "soa_email is not valid"
