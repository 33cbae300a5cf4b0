"""Reasons of refusals have the contract's words, never the framework's."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework import serializers

from config.api.exceptions import flatten
from config.api.serializers import Resource
from tests.refusals import bodies, reasons_of

OF_THE_FRAMEWORK = (
    "A valid", "Ensure", "Enter a", "Expected", "Incorrect", "Invalid", "Must be a valid", "Not a valid", "Null",
    "Surrogate", "This ", "Value must", '"{', "Date", "The ",
)  # fmt: skip
"""The beginnings of sentences that Django and DRF have for a field."""
WRONG: list[Any] = [
    7, -1, 2**70, 1.5, 1e300, True, "", " ", "x", "\x00", "\ud800", "é" * 300, "999.1.1.1", "a@",
    "http://", "2026-99-99", [], [7], ["x"], [None], ["\x00"], [""], {}, {"x": 1}, [{}], [{"x": 1}], None,
]  # fmt: skip
RESOURCES = bodies()


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.__qualname__)
def test_no_field_has_a_sentence_of_the_frameworks(resource: type[Resource]):
    assert not [reason for _, reason in reasons_of(resource()) if reason.startswith(OF_THE_FRAMEWORK)]


def inputs_of(resource: Resource, path: str) -> Iterator[tuple[str, serializers.Field]]:
    """Yield the writable fields of a body, with nested ones, by their path."""
    for name, field in resource.fields.items():
        if not field.read_only:
            inner = getattr(field, "child", None) or getattr(field, "item", field)
            yield f"{path}.{name}", field
            if isinstance(inner, Resource):
                yield from inputs_of(inner, f"{path}.{name}")
            elif inner is not field:
                yield f"{path}.{name}[]", inner


def refusals_of(field: serializers.Field, value: Any) -> Iterator[str]:
    try:
        field.run_validation(value)
    except serializers.ValidationError as error:
        yield from (problem["reason"] for problem in flatten(error.detail))
    except serializers.SkipField:
        pass


def test_no_value_is_refused_with_a_sentence_of_the_frameworks():
    """Also by checks that are functions, and by nested serializers, which have no list of their sentences."""
    theirs = {
        f"{path} = {value!r:.40}: {reason}"
        for resource in RESOURCES
        for path, field in inputs_of(resource(), resource.__name__)
        for value in WRONG
        for reason in refusals_of(field, value)
        if reason.startswith(OF_THE_FRAMEWORK)
    }
    assert not theirs, "\n".join(sorted(theirs))


def test_no_length_is_named_twice():
    found = {reason for resource in RESOURCES for _, reason in reasons_of(resource())}
    assert "Length must be 2 characters" in found
    assert not [reason for reason in found if any(f" {number}-{number} " in reason for number in range(100))]


def test_no_bound_is_that_of_a_column():
    found = {reason for resource in RESOURCES for _, reason in reasons_of(resource())}
    assert not [reason for reason in found if str(2**63 - 1) in reason]


@pytest.mark.parametrize(
    ("resource", "field", "bad", "fine"),
    [
        ("InstanceResource", "label", "a b c", "a.b-c"),
        ("FirewallResource", "label", "9-lives", "nine-lives"),
        ("NodeBalancerResource", "label", "a.b", "9a_b"),
        ("NodeBalancerNodeResource", "label", "a/b", "a.b"),
        ("VolumeCreate", "label", "a.b", "a-b_c"),
        ("UserResource", "username", "-abc", "a-b_c"),
        ("ContactResource", "name", "a\nb", "Ann Ö., on call!"),
        ("CredentialResource", "label", "a\tb", "router (old) #2"),
        ("ServiceResource", "label", "a\x7fb", "shop: checkout & cart"),
    ],
)
def test_a_refused_name_gets_the_forbidden_characters(resource: str, field: str, bad: str, fine: str):
    found = next(each for each in RESOURCES if each.__name__ == resource)().fields[field]
    assert found.run_validation(fine) == fine
    (reason,) = refusals_of(found, bad)
    assert re.search("letters, digits|control characters", reason)
