"""Sizes, prices and durations as pages show them."""

import pytest

from config.display.quantities import duration, price, size


@pytest.mark.parametrize(
    ("dollars", "shown"), [(5, "$5"), (2.5, "$2.50"), (0.0075, "$0.0075"), (1200, "$1,200"), (0, "$0")]
)
def test_a_price_has_cents_if_there_are_any(dollars, shown):
    assert price(dollars) == shown


@pytest.mark.parametrize(
    ("megabytes", "shown"),
    [
        (0, "0 GB"), (512, "512 MB"), (25600, "25 GB"), (1536, "1.5 GB"), (10240, "10 GB"),
        (3932160, "3,840 GB"), (12641280, "12,345 GB"),
    ],
)  # fmt: skip
def test_a_size_has_the_unit_that_suits_it(megabytes, shown):
    assert size(megabytes) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(45, "45 seconds"), (300, "5 minutes"), (3600, "1 hour"), (345600, "4 days"), (604800, "1 week")],
)
def test_a_duration_is_in_the_largest_unit_that_divides_it(seconds, shown):
    assert duration(seconds) == shown
