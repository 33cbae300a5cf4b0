"""Problems of a request, collected while a service checks it."""

import pytest

from config.errors import Invalid, Problem, Problems


def test_a_checked_value_is_returned():
    assert Problems().checked("a label") == "a label"
    assert Problems().checked(0) == 0


@pytest.mark.parametrize("value", [None, "a label"])
def test_no_value_is_checked_while_there_are_problems(value):
    problems = Problems()
    problems.add("label", "label is required")
    problems.add("size", "size is required")
    with pytest.raises(Invalid) as refused:
        problems.checked(value)
    assert refused.value.problems == (
        Problem("label is required", "label"),
        Problem("size is required", "size"),
    )


def test_a_value_that_no_check_has_missed_is_a_defect_and_not_the_clients():
    with pytest.raises(TypeError, match="no check has added a problem"):
        Problems().checked(None)
