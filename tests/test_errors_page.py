"""docs/errors.md has every reason of the API, each with advice. --write-baselines adds rows.

The advice is written by hand in the rows, and stays when the tables are written anew.
"""

import re
from collections.abc import Iterable, Iterator

import pytest

from tests.baselines import stale
from tests.refusals import PAGE, ROW, Refusal, collected, covers, of_fields

TABLE = re.compile(r"(?<=<!-- reasons: )(?P<area>[\w, ]+)(?P<start> -->\n).*?(?=<!-- end -->)", re.DOTALL)
HEAD = "| status | field | reason | what to do |\n|---|---|---|---|\n"
AREAS = {
    "accounts": ("accounts/",),
    "backups": ("compute/services/backups/", "compute/serializers/backups"),
    "firewalls": (
        "compute/services/networking/firewalls/",
        "compute/models/networking/firewalls",
        "compute/serializers/networking/firewalls",
    ),
    "networking": ("compute/services/networking/", "compute/serializers/networking/"),
    "domains": ("compute/services/domains/", "compute/models/domains/", "compute/serializers/domains/"),
    "images": ("compute/services/images/", "compute/serializers/images", "compute/api/uploads"),
    "load balancers": (
        "compute/services/nodebalancers/",
        "compute/models/nodebalancers/",
        "compute/serializers/nodebalancers/",
    ),
    "scripts": ("compute/services/stackscripts/", "compute/serializers/stackscripts"),
    "stats": ("compute/services/stats/", "compute/api/stats"),
    "volumes": ("compute/services/volumes/", "compute/models/volumes", "compute/serializers/volumes"),
    "managed": ("managed/",),
    "tags": ("tags/",),
    "instances": ("compute/",),
}
"""The tables of the page, and the modules of each. The first match counts."""


def by_hand(page: str) -> list[str]:
    """Return the reasons in the tables for all operations."""
    return [row["reason"] for row in ROW.finditer(TABLE.sub("", page))]


def area_of(module: str) -> str:
    return next((area for area, paths in AREAS.items() if module.startswith(paths)), "")


def refusals() -> Iterator[Refusal]:
    found, unknown = collected()
    assert not unknown, "tests/refusals.py cannot tell what these are:\n" + "\n".join(unknown)
    yield from found
    yield from of_fields()


def shown(field: str) -> str:
    """Return a field as the page has it: if the code takes its name from elsewhere, the request's name."""
    left = re.sub(r"^(<[a-z]+>\.?)+", "", field)
    return "its field" if not left else f"`{field}`" if left == field else f"`….{left}`"


def rows(found: Iterable[Refusal], advice: dict[tuple[str, str], str], area: str) -> str:
    """Return the table of an area. A reason has one row, with all its fields."""
    merged: dict[str, tuple[set[int], set[str]]] = {}
    for each in found:
        statuses, fields = merged.setdefault(each.reason, (set(), set()))
        statuses.add(each.status)
        fields |= {shown(field) for field in each.field.split(" or ") if field}
    lines = [
        f"| {', '.join(map(str, sorted(statuses)))} | {', '.join(sorted(fields))} | `{reason}` "
        f"| {advice.get((area, reason), '')} |\n"
        for reason, (statuses, fields) in sorted(merged.items())
    ]
    return HEAD + "".join(lines)


def written(page: str, found: list[Refusal]) -> str:
    """Return the page with its tables made from the code."""
    general = by_hand(page)

    def table(match: re.Match[str]) -> str:
        area = match["area"]
        advice = {(area, row["reason"]): row["advice"] for row in ROW.finditer(match[0])}
        mine = [each for each in found if area_of(each.module) == area]
        left = [each for each in mine if not any(covers(row, each.reason) for row in general)]
        return area + match["start"] + rows(left, advice, area)

    return TABLE.sub(table, page)


@pytest.fixture(scope="module")
def found() -> list[Refusal]:
    return list(refusals())


def test_the_page_has_every_reason(found, write_baselines):
    page = PAGE.read_text()
    fresh = written(page, found)
    if write_baselines:
        PAGE.write_text(fresh)
        page = fresh
    assert page == fresh, stale("docs/errors.md")


def test_general_reasons_are_written_by_hand(found):
    general = by_hand(PAGE.read_text())
    elsewhere = {each.reason for each in found if not area_of(each.module)}
    assert {reason for reason in elsewhere if not any(covers(row, reason) for row in general)} == set()


def test_each_reason_has_its_advice():
    assert [row["reason"] for row in ROW.finditer(PAGE.read_text()) if len(row["advice"]) < 10] == []


def test_each_area_has_its_table():
    assert {match["area"] for match in TABLE.finditer(PAGE.read_text())} == {*AREAS}


def test_words_in_angle_brackets_stand_for_anything():
    assert covers("<name> is not valid", "label is not valid")
    assert covers("Cannot <verb> a compute that is <status>.", "Cannot boot a compute that is running.")
    assert not covers("<name> is not valid", "label is not valid: letters only")


def test_reasons_are_found_however_they_are_made(found):
    """One example of each source: a text, a constant, a function, another error, a constraint, a field."""
    reasons = {(each.reason, each.status) for each in found}
    assert {
        ("Exactly one of disk_id and volume_id is needed.", 400),
        ("Password does not meet strength requirement", 400),
        ("file must be at most 5 MB, and not empty.", 400),
        ("<owner> has at most <most> <nouns>: ask support for more.", 400),
        ("A firewall has at most 25 rules, inbound and outbound together.", 400),
        ("Label must be unique among your computes", 400),
        ("A token can only create tokens within its own scopes.", 403),
        ("Unknown operator <shown>", 400),
    } <= reasons
    assert ("Length must be 3-64 characters", "label") in {(each.reason, each.field) for each in found}


def test_a_field_within_others_is_named_by_its_path(found):
    fields = {each.field for each in found}
    assert {"alerts.cpu", "ssh.port", "phone.primary", "backups.schedule.day", "configs[<index>].port"} <= fields
    assert "day" not in fields
