"""The status of an instance as the pages of several nouns show it, and the kinds of job that can start from it."""

from collections.abc import Callable

from django.utils.safestring import SafeString

from compute.jobs.definition import KINDS
from compute.models import Instance
from config.admin.value_formats import BAD, BUSY, GOOD, QUIET, pill

TONES: dict[str, str] = {
    Instance.Status.RUNNING: GOOD,
    Instance.Status.OFFLINE: QUIET,
    Instance.Status.STOPPED: BAD,
}


def can(kind: str) -> Callable[[Instance], bool]:
    """Return a function that tells whether a job of this kind can start from an instance's status."""
    return lambda instance: instance.status in KINDS[kind].starts_from


def status_pill(instance: Instance) -> SafeString:
    return pill(instance.get_status_display().lower(), TONES.get(instance.status, BUSY))
