"""Catalogue files of tests, as text and as Python."""

import io
import json
from typing import Any
from unittest.mock import patch

import pytest
from django.core.management import CommandError, call_command

from compute.services.catalogue import applying, exporting
from compute.services.catalogue.reading import read


def apply(file: dict[str, Any], **more: Any) -> list[str]:
    """Apply a catalogue given as Python. Returns the plan's changes, each as ``verb section.name``."""
    catalogue = read(json.dumps(file))
    plan = applying.planned(catalogue)
    applying.apply(catalogue, plan, **more)
    return [f"{change.verb} {change.section}.{change.name}" for change in plan.changes]


def refusals(file: dict[str, Any] | str) -> list[str]:
    """Return the error lines of a refused file, whether the file or the present rows are the cause."""
    text = file if isinstance(file, str) else json.dumps(file)
    with patch("sys.stdin", io.StringIO(text)), pytest.raises(CommandError) as caught:
        call_command("catalogue", "apply", "-", "--yes", stdout=io.StringIO())
    return str(caught.value).splitlines()


def exported(*sections: str) -> dict[str, Any]:
    return exporting.export(sections)
