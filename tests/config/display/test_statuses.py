"""Labels of statuses."""

import pytest

from config.display.statuses import pill, status_counts, status_pill


@pytest.mark.parametrize(
    ("status", "label"),
    [
        ("running", '<span class="status good">running</span>'),
        ("shutting_down", '<span class="status busy">shutting down</span>'),
        ("failed", '<span class="status bad">failed</span>'),
        ("offline", '<span class="status quiet">offline</span>'),
    ],
)
def test_a_status_is_shown_in_words_with_its_tone(status, label):
    assert status_pill(status) == label


def test_a_label_escapes_its_text():
    assert pill("<b>") == '<span class="status quiet">&lt;b&gt;</span>'


def test_statuses_are_counted():
    found = status_counts([("UP", 2), ("DOWN", 0), ("Unknown", 1)])
    assert found == '<span class="status good">2 UP</span> <span class="status quiet">1 Unknown</span>'
    assert status_counts([]) == ""
