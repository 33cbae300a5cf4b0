"""Differences of two texts, line by line."""

import pytest

from config.display.differences import Line, TooDifferentError, differences


def test_shows_changed_lines_with_their_context():
    before = "".join(f"{number}\n" for number in range(20))
    found = differences(before, before.replace("10\n", "ten\n"))
    assert found == [
        Line("skipped", "Line 8"),
        *(Line("same", str(number)) for number in (7, 8, 9)),
        Line("removed", "10"),
        Line("added", "ten"),
        *(Line("same", str(number)) for number in (11, 12, 13)),
    ]


@pytest.mark.parametrize(("before", "after"), [("a\r\nb\r\n", "a\nb\n"), ("a\nb", "a\nb\n"), ("", "")])
def test_line_ends_are_no_difference(before, after):
    assert differences(before, after) == []


def test_a_long_script_with_one_change_is_compared():
    lines = [f"echo {number}" for number in range(5000)]
    found = differences("\n".join(lines), "\n".join([*lines[:4000], "exit", *lines[4000:]]))
    assert [line for line in found if line.kind == "added"] == [Line("added", "exit")]


def test_texts_that_would_take_minutes_are_refused():
    many = [f"{number % 150}" for number in range(20_000)]
    with pytest.raises(TooDifferentError):
        differences("\n".join(many), "\n".join(reversed(many)))
