"""Tabs that list the parts of an instance: its disks, profiles, backups and addresses."""

from collections.abc import Iterable
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
from django.views.generic import TemplateView

from compute.pages.base import InstanceTab
from config.pages.views import fragment, is_htmx, version_of


class PartTab(InstanceTab, TemplateView):
    """A tab whose lists update themselves, whenever the head of the page has changed.

    `template_name` extends ``compute/instance_part.html`` and `part_template` has the lists.
    """

    part_template: ClassVar[str]

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if is_htmx(request):
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
