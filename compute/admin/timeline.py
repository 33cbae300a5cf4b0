"""The jobs and events of an instance or another object in one list, newest first."""

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet

from accounts.admin.panels import event_state
from accounts.models import Event
from compute.admin.job_status import JobProgress, with_progress
from compute.models import Instance, Job
from config.admin.pages import Panel, Row
from config.admin.value_formats import lines, link, list_of, moment, span

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    from compute.admin.job_status import ProgressColumns

ENTRIES_SHOWN = 50

Buttons = Callable[[Job], Any]


def timeline(instance: Instance, buttons: Buttons) -> Panel:
    """The newest jobs and events of the instance."""
    return story("compute", instance.pk, instance.account_id, instance.jobs.all(), buttons)


def story(kind: str, key: int, account_id: int, jobs: QuerySet[Job], buttons: Buttons) -> Panel:
    """Return the newest of `jobs` and of the entity's events, in one list; two queries.

    `kind` and `key` name the entity. `buttons` renders the buttons of a live job.
    """
    about = {"entity_type": kind, "entity_id": key}
    events = Event.objects.filter(account_id=account_id, **about).order_by("-pk")[:ENTRIES_SHOWN]
    newest = with_progress(jobs).select_related("instance").order_by("-pk")[:ENTRIES_SHOWN]
    entries = [(job.created, 1, job.pk, _job_row(job, buttons)) for job in newest]
    entries += [(event.created, 0, event.pk, _event_row(event)) for event in events]
    entries.sort(key=lambda entry: entry[:3], reverse=True)
    return Panel(
        "Jobs and events",
        ("When", "What", "State", "Progress", ""),
        [entry[-1] for entry in entries[:ENTRIES_SHOWN]],
        more=list_of(Event, account__id__exact=account_id, **about),
        empty="Nothing happened yet.",
    )


def _job_row(job: "WithAnnotations[Job, ProgressColumns]", buttons: Buttons) -> Row:
    progress = JobProgress(job)
    what = lines([link(job, f"job {job.pk}: {job.kind}"), by(job.created_by)])
    cells = (moment(job.created), what, progress.state(), progress.details(), buttons(job) if progress.live else "")
    return Row(cells, "bad" if progress.stuck else "")


def _event_row(event: Event) -> Row:
    about = f"with {event.secondary_label}" if event.secondary_label else ""
    what = lines([link(event, event.meaning), by(event.username)])
    took = f"took {span(timedelta(seconds=event.duration))}" if event.duration is not None else ""
    return Row((moment(event.created), what, event_state(event), lines([about, took, event.message]), ""))


def by(username: str) -> str:
    return f"by {username or 'the platform'}"
