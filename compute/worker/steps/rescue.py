"""Deletes profiles of rescues when a rescue has ended: an instance keeps the newest that was booted."""

from compute.jobs.data import RescueData
from compute.models import Config
from compute.worker.run import Run


def delete_earlier_profiles(run: Run[RescueData]) -> None:
    """Delete the profiles of earlier rescues."""
    rescues = Config.objects.filter(instance=run.instance, rescue=True)
    rescues.exclude(pk=run.data.config_id).delete()


def delete_profile(run: Run[RescueData]) -> None:
    """Delete the profile of a rescue that failed; the profile of an earlier rescue stays."""
    Config.objects.filter(pk=run.data.config_id).delete()
