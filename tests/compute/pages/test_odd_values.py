"""Texts that no browser sends by itself. The serializer refuses them at their fields, as in the API."""

import pytest

from compute.models import Instance
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import address_of, events, instance_with_parts

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(account) -> Instance:
    return instance_with_parts(account, label="web-1")


@pytest.mark.parametrize(
    ("page", "part", "field"),
    [
        ("instance-config-new", "", "comments"),
        ("instance-config-edit", "config", "comments"),
        ("instance-address-rdns", "address", "rdns"),
        ("instance-address-move", "address", "target"),
        ("instance-settings", "", "label"),
        ("instance-disk-new", "", "label"),
        ("instance-volume-new", "", "label"),
    ],
)
def test_a_nul_is_refused(owner, instance, page, part, field):
    parts = {
        "config": instance.configs.values_list("pk", flat=True).first(),
        "address": instance.addresses.values_list("address", flat=True).first(),
    }
    where = address_of(page, instance, *([parts[part]] if part else []))
    answer = signed_in(owner).post(where, {"label": "abc", field: "a\0b"})
    assert answer.status_code == 200
    assert problems(answer, field)
    assert events(instance) == []


def test_a_text_that_is_too_long_has_the_api_s_reason(owner, instance):
    where = address_of("instance-settings", instance)
    answer = signed_in(owner).post(where, {"label": "x" * 65, "group": "x" * 51})
    assert problems(answer, "label") == "Length must be 3-64 characters"
    assert problems(answer, "group") == "Length must be at most 50 characters"
