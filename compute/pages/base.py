"""Base classes of the pages of one instance: its visibility, permission to change it, tabs and forms."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, QuerySet
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.views.generic.base import ContextMixin

from accounts.actors import Actor
from accounts.models import Event
from accounts.pages.base import AccountPage
from compute.models import Instance
from compute.services.instances.availability import is_busy, live_jobs, refusals
from config.pages.forms import BodyForm
from config.pages.views import ServiceFormView, version_of

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


@dataclass(frozen=True, slots=True)
class Tab:
    label: str
    address: str
    current: bool


class InstancePage(ContextMixin, AccountPage):
    """A page of one instance that the user may see; others are answered 404.

    A page with `operations` changes the instance. It answers 403 to users who may only read the instance.
    """

    tab: ClassVar[str] = ""
    """The name of the URL of the tab that the page belongs to."""
    changes: ClassVar[bool] = True
    """Whether the page's operations change this instance. Others, such as a clone, need only a `grant`."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.user.is_authenticated and self.operations and self.changes and not self.may_change:
            raise PermissionDenied
        return super().dispatch(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[Instance]:
        return Instance.objects.visible_to(self.actor).select_related("region", "type", "image", "host")

    @cached_property
    def instance(self) -> Instance:
        found = self.get_queryset().filter(pk=self.kwargs["pk"]).first()
        if found is None:
            raise Http404
        return found

    @cached_property
    def may_change(self) -> bool:
        """Whether the user may change the instance, and not only read it. One query if the user is restricted."""
        if not self.actor.restricted:
            return self.instance is not None
        return Instance.objects.writable_by(self.actor).filter(pk=self.instance.pk).exists()

    def address(self, page: str) -> str:
        """The address of another page of this instance."""
        return reverse(page, args=[self.instance.pk])

    def get_success_url(self) -> str:
        return self.address(self.tab or "instance")

    def tabs(self) -> Iterator[Tab]:
        for page, label in TABS:
            if page in TABS_OF_CHANGES and not self.may_change:
                continue
            yield Tab(label, self.address(page), page == self.tab)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        trail = [("Instances", reverse("instances"))]
        if type(self).tab != "instance":
            trail.append((self.instance.label, self.address("instance")))
        return super().get_context_data(
            instance=self.instance, may_change=self.may_change, may_clone=self.actor.may("add_computes"),
            tabs=self.tabs(), trail=trail, **kwargs,
        )  # fmt: skip


class InstanceForm(BodyForm):
    """A form about an instance. Subclasses fill its choices when they are made."""

    def __init__(self, *args: Any, instance: Instance, actor: Actor, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.instance, self.actor = instance, actor


class FormPage(InstancePage, ServiceFormView):
    """A page with one form about an instance. It leads back to its tab.

    If a job of its `kind` cannot start now, the button is disabled with the reason. In the texts, `{page.name}`
    is replaced by the page's attribute of that name, as in `{page.instance}`.
    """

    template_name = "components/form_page.html"
    kind: ClassVar[str] = ""
    """The kind of the job that the page starts; empty for none."""
    heading: ClassVar[str] = ""
    introduction: ClassVar[str] = ""
    verb: ClassVar[str] = ""
    """The text of the button."""
    dangerous: ClassVar[bool] = False

    def unavailable(self) -> str:
        """Return the reason why the form cannot be sent now; empty if it can."""
        return refusals(self.instance, busy=is_busy(self.instance))[self.kind] if self.kind else ""

    def get_form_kwargs(self) -> dict[str, Any]:
        about = {"instance": self.instance, "actor": self.actor}
        return super().get_form_kwargs() | (about if issubclass(self.get_form_class(), InstanceForm) else {})

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        tab = self.tab or "instance"
        context = super().get_context_data(
            heading=self.heading.format(page=self), introduction=self.introduction.format(page=self),
            verb=self.verb, dangerous=self.dangerous, unavailable=self.unavailable(), back=self.address(tab),
            **kwargs,
        )  # fmt: skip
        if self.tab:
            context["trail"].append((dict(TABS)[tab], context["back"]))
        return context


class ConfirmationPage(FormPage):
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
        event = events.filter(status__in=UNDER_WAY).first()
    percent = event.percent_complete if event else None
    seen = version_of(instance.status, instance.label, busy, last and (last.pk, last.status), percent)
    reasons = SimpleLazyObject(partial(refusals, instance, busy=busy))
    return {"under_way": event, "refusals": reasons, "seen": seen}
