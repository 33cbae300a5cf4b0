"""The clock of usage."""

from datetime import datetime

from django.utils import timezone


def now() -> datetime:
    """Return the time at which a resource's use begins or ends. All of usage reads only this clock.

    Tests replace this function to play a month in seconds.
    """
    return timezone.now()
