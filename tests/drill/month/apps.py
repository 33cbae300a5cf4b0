"""An app that moves the clock of usage of the process that loads it."""

import os
from datetime import datetime, timedelta
from pathlib import Path

from django.apps import AppConfig
from django.utils import timezone

VARIABLE = "DRILL_USAGE_CLOCK"
"""The variable with the path of a file, which has the offset from the machine's time in seconds."""


class MovedClock(AppConfig):
    name = "tests.drill.month"
    label = "drill_month"

    def ready(self) -> None:
        from compute.services.usage import clock

        clock.now = moved


def moved() -> datetime:
    """Return the machine's time plus the offset."""
    return timezone.now() + timedelta(seconds=float(Path(os.environ[VARIABLE]).read_text()))
