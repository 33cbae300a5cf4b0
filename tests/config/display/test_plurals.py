"""Numbers of things in sentences."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from config.display.plurals import counted

APPS = ("config", "accounts", "regions", "tags", "compute", "managed")
BY_HAND = re.compile(r"""['"]{2} if \w+ == 1 else ['"]e?s['"]""")


@pytest.mark.parametrize(
    ("number", "words", "expected"),
    [
        (0, ("job",), "0 jobs"),
        (1, ("job",), "1 job"),
        (1, ("address", "addresses"), "1 address"),
        (2, ("address", "addresses"), "2 addresses"),
        (1024, ("record was", "records were"), "1,024 records were"),
    ],
)
def test_a_number_has_the_form_of_its_noun(number, words, expected):
    assert counted(number, *words) == expected


def test_no_plural_is_made_by_hand():
    files = [path for app in APPS for path in (Path(settings.BASE_DIR) / app).rglob("*.py")]
    assert [path.name for path in files if BY_HAND.search(path.read_text())] == []
