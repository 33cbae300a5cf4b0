"""The kinds of job that can start from the status of an instance."""

from collections.abc import Callable

from compute.jobs.definition import KINDS
from compute.models import Instance


def can(kind: str) -> Callable[[Instance], bool]:
    """Return a function that tells whether a job of this kind can start from an instance's status."""
    return lambda instance: instance.status in KINDS[kind].starts_from
