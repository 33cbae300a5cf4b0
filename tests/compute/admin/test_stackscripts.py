"""Deployment scripts and images for staff."""

import pytest
from django.contrib.admin.models import LogEntry

from accounts.models import Event
from compute.models import Image, StackScript
from tests.config.admin.pages import list_address, page_address
from tests.factories import ImageFactory, StackScriptFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def script(db) -> StackScript:
    return StackScriptFactory(is_public=True, script='#!/bin/sh\n# <UDF name="x" label="X"/>', label="wonder")


def test_staff_read_a_script_and_find_it_by_its_label(admin, script):
    page = admin.get(page_address(script)).content.decode()
    assert "&lt;UDF name=" in page
    assert admin.get(list_address(StackScript), {"q": "wond"}).context["cl"].result_count == 1
    assert admin.get(list_address(StackScript), {"q": "nothing"}).context["cl"].result_count == 0


def test_staff_make_a_public_script_private_with_an_event(admin, script):
    admin.post(page_address(script), {"ordinal": 7, "logo_url": "wonder.svg", "script": "changed"})
    script.refresh_from_db()
    assert (script.is_public, script.ordinal, script.logo_url) == (False, 7, "wonder.svg")
    assert script.script.startswith("#!/bin/sh")
    event = Event.objects.get()
    assert (event.action, event.account, event.username) == ("stackscript_update", script.account, "")
    assert LogEntry.objects.filter(object_id=str(script.pk)).exists()


def test_scripts_are_neither_made_nor_deleted_by_staff(admin, script):
    assert admin.get(f"{list_address(StackScript)}add/").status_code == 403
    assert admin.get(page_address(script).replace("/change/", "/delete/")).status_code == 403


def test_a_customers_image_is_looked_at_and_not_changed(admin, account):
    image = ImageFactory(id="private/7", number=7, account=account, is_public=False, label="golden")
    assert "golden" in admin.get(page_address(image)).content.decode()
    assert admin.post(page_address(image), {"label": "stolen"}).status_code == 403
    image.refresh_from_db()
    assert image.label == "golden"


def test_an_image_that_staff_add_is_public_and_the_platforms(admin):
    values = {
        "id": "compute/added", "label": "Added", "size": "1300", "position": "1",
        "created_0": "2026-01-02", "created_1": "03:04:05",
    }  # fmt: skip
    answer = admin.post(f"{list_address(Image)}add/", values)
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    image = Image.objects.get(pk="compute/added")
    assert (image.is_public, image.created_by) == (True, "compute")
