"""Refuses to start with time limits that would let two workers hold one job."""

from itertools import pairwise

from django.conf import settings
from django.core.checks import Error, register

ORDER = ("JOB_DRIVER_TIMEOUT", "JOB_SOFT_LIMIT", "JOB_HARD_LIMIT", "JOB_LEASE")


@register()
def times_are_in_order(app_configs, **kwargs):
    """Driver timeout < soft limit < hard limit < lease."""
    return [
        Error(f"{shorter} must be less than {longer}", id="compute.E001")
        for shorter, longer in pairwise(ORDER)
        if not getattr(settings, shorter) < getattr(settings, longer)
    ]
