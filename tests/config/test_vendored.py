"""Vendored files that pages and tests load agree with their README."""

import re
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "config" / "static"
CHECKSUM = re.compile(r"^([0-9a-f]{64})  (\S+)$", re.MULTILINE)
VENDORED = [
    (readme.parent / name, checksum)
    for readme in [*sorted(STATIC.glob("*/README.txt")), ROOT / "tests" / "browser" / "axe" / "README.txt"]
    for checksum, name in CHECKSUM.findall(readme.read_text())
]


@pytest.mark.parametrize(("file", "checksum"), VENDORED, ids=lambda each: getattr(each, "name", ""))
def test_the_file_has_not_changed(file, checksum):
    assert sha256(file.read_bytes()).hexdigest() == checksum


def test_each_minified_or_vendored_file_has_a_checksum_and_a_licence():
    patterns = ("config/static/*/*.min.*", "config/static/xterm/*.mjs", "tests/browser/*/*.min.js")
    minified = {file for pattern in patterns for file in ROOT.glob(pattern)}
    assert minified <= {file for file, _ in VENDORED}
    assert all((file.parent / "LICENSE").is_file() for file in minified)


def test_no_style_sheet_or_script_of_ours_loads_anything_from_elsewhere():
    for file in (STATIC / "frame").glob("*.[cj]s*"):
        assert "://" not in file.read_text()
        assert "data:" not in file.read_text()
