"""The base classes of the pages about the parts of an instance: its disks, profiles, backups and addresses.

A part has a tab, which lists objects, and pages with one form each, which lead back to the tab.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from django import forms
from django.http import HttpRequest, HttpResponse
from django.views.generic import TemplateView

from accounts.actors import Actor
from compute.models import Instance
from compute.pages.base import TABS, InstancePage, InstanceTab
from compute.services.instances.availability import is_busy, refusals
from config.pages.forms import BodyForm
from config.pages.views import ServiceFormView, fragment, version_of

BUSY = "Compute busy."


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb in the menu of a row. `reason` says why it is unavailable now; the text is empty if it is available.

    A `posted` verb has no form: its entry in the menu is a button.
    """

    label: str
    address: str
    reason: str = ""
    posted: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """An object of a list, with the verbs that the user may take."""

    object: Any
    verbs: tuple[Verb, ...] = ()


class PartTab(InstanceTab, TemplateView):
    """A tab whose lists update themselves, whenever the head of the page has changed.

    `template_name` extends ``compute/instance_part.html`` and `part_template` has the lists.
    """

    part_template: ClassVar[str]

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.htmx:  # type: ignore[attr-defined] # see `config.pages.middleware.Htmx`
            context = self.get_context_data(**kwargs)
            return fragment(request, self.part_template, {**context, "seen": context["part_seen"]})
        return super().get(request, *args, **kwargs)

    def shown(self, refusals: Any) -> dict[str, Any]:
        """Return the context of the lists. `refusals` has the reasons of unavailable kinds of job."""
        raise NotImplementedError

    def values_of(self, shown: dict[str, Any]) -> Iterable[Any]:
        """Return the values by which the lists are compared with those that the browser has."""
        raise NotImplementedError

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        shown = self.shown(context["refusals"])
        seen = version_of(self.instance.status, [*context["refusals"].values()], *self.values_of(shown))
        return {**context, **shown, "part_template": self.part_template, "part_seen": seen}


class InstanceForm(BodyForm):
    """A form about an instance. Subclasses fill its choices when they are made."""

    def __init__(self, *args: Any, instance: Instance, actor: Actor, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.instance, self.actor = instance, actor

    def set_choices(self, name: str, choices: Iterable[Any]) -> None:
        cast(Any, self.fields[name]).choices = list(choices)


class PartPage(InstancePage, ServiceFormView):
    """A page about a part of an instance, with one form, which leads back to the tab of the part."""

    template_name = "components/form_page.html"
    kind: ClassVar[str] = ""
    """The kind of the job that the page starts. The page is unavailable while such a job cannot start."""
    dangerous: ClassVar[bool] = False

    def texts(self) -> dict[str, str]:
        """Return the heading of the page, the verb on its button, and an introduction if it needs one."""
        raise NotImplementedError

    def refusal(self) -> str:
        """Return why the form cannot be sent now; empty if it can."""
        return refusals(self.instance, busy=is_busy(self.instance))[self.kind] if self.kind else ""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(
            back=self.address(self.tab),
            dangerous=self.dangerous,
            unavailable=self.refusal(),
            **self.texts(),
            **kwargs,
        )
        return {**context, "trail": [*context["trail"], (dict(TABS)[self.tab], self.address(self.tab))]}


class PartForm(PartPage):
    """A `PartPage` whose form is an `InstanceForm`."""

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "instance": self.instance, "actor": self.actor}


class PartQuestion(PartPage):
    """A `PartPage` that asks before it does what cannot be undone, or what costs something."""

    form_class = forms.Form
    dangerous = True
