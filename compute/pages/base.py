"""Base classes of the pages of one instance: its visibility, permission to change it, tabs and forms."""

from functools import partial
from typing import Any, ClassVar

from django import forms
from django.db.models import Exists, QuerySet
from django.utils.functional import SimpleLazyObject

from accounts.models import Event
from accounts.pages.objects import ObjectForm, ObjectFormPage, ObjectPage
from compute.models import Instance
from compute.services.instances.availability import is_busy, live_jobs, refusals
from config.pages.views import version_of

TABS = (
    ("instance", "Overview"),
    ("instance-storage", "Storage"),
    ("instance-configs", "Configurations"),
    ("instance-backups", "Backups"),
    ("instance-network", "Network"),
    ("instance-activity", "Activity"),
    ("instance-settings", "Settings"),
)
"""The pages of an instance: the name of the URL, and the label of the tab."""
TABS_OF_CHANGES = frozenset({"instance-settings"})
"""The tabs that consist of forms. Users who may only read the instance do not have them."""


UNDER_WAY = (Event.Status.SCHEDULED, Event.Status.STARTED)


class InstancePage(ObjectPage):
    """A page of one instance that the user may see."""

    model = Instance
    noun = "instances"
    home = "instance"
    tab_pages = TABS
    tabs_of_changes = TABS_OF_CHANGES

    def get_queryset(self) -> QuerySet[Instance]:
        return Instance.objects.visible_to(self.actor).select_related("region", "type", "image", "host")

    @property
    def instance(self) -> Instance:
        found: Instance = self.object
        return found

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(instance=self.instance, may_clone=self.actor.may("add_computes"), **kwargs)


class InstanceForm(ObjectForm):
    """A form about an instance. Subclasses fill its choices when they are made."""

    @property
    def instance(self) -> Instance:
        found: Instance = self.object
        return found


class InstanceFormPage(InstancePage, ObjectFormPage):
    """A page with one form about an instance. It leads back to its tab.

    If a job of its `kind` cannot start now, the button is disabled with the reason.
    """

    kind: ClassVar[str] = ""
    """The kind of the job that the page starts; empty for none."""

    def unavailable(self) -> str:
        return refusals(self.instance, busy=is_busy(self.instance))[self.kind] if self.kind else ""


class ConfirmationPage(InstanceFormPage):
    """A page that asks before it does something that cannot be undone, or that costs something."""

    form_class = forms.Form
    dangerous = True


class InstanceTab(InstancePage):
    """A tab of an instance: below the head, with its status, the progress of its job, and its power verbs."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**state_of(self.instance), **kwargs)


def state_of(instance: Instance) -> dict[str, Any]:
    """The changing part of an instance's head: the event under way, and why verbs are unavailable. One query, and
    a second one if there is no event, or if one has come after the one of the job.

    `seen` is the hash by which a page knows whether its part has changed (`config.pages.views.fragment`). The hash
    changes with each event of the instance, so that a page also learns of jobs that end between two requests. The
    `refusals` are made when they are read first: most requests of open pages only compare `seen`.
    """
    about = {"account_id": instance.account_id, "entity_type": "compute", "entity_id": instance.pk}
    events = Event.objects.filter(**about).order_by("-pk")
    last = events.annotate(busy=Exists(live_jobs(instance))).first()
    busy = is_busy(instance) if last is None else last.busy
    event: Event | None = last if last is not None and last.status in UNDER_WAY else None
    if event is None and busy:
        # the event of a clone names the source, and not the instance that the job works on
        event = Event.objects.filter(pk__in=live_jobs(instance).values("event")).first()
    percent = event.percent_complete if event else None
    seen = version_of(instance.status, instance.label, busy, last and (last.pk, last.status), percent)
    reasons = SimpleLazyObject(partial(refusals, instance, busy=busy))
    return {"under_way": event, "refusals": reasons, "seen": seen}
