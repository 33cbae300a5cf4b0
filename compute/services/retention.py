"""Deleting finished jobs after their retention."""

from django.conf import settings
from django.db.models.functions import Now

from accounts.services.retention import delete_in_batches
from compute.models import Job


def delete_old() -> int:
    """Delete jobs that finished longer ago than JOBS_KEPT, and return their number. Live jobs stay, however old."""
    return delete_in_batches(Job.objects.filter(finished_at__lt=Now() - settings.JOBS_KEPT))
