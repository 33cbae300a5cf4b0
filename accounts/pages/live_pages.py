"""Pages that update themselves: the page of an object, and a list.

A part of the page requests the page's own address with htmx, and gets itself again if it has changed.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any, ClassVar

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.views.generic import TemplateView
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh

from accounts.pages.objects import ObjectListPage, ObjectPage
from config.pages.navigation import NOUNS
from config.pages.views import UNCHANGED_STATUS, fragment, is_htmx, version_of


class LiveListPage(ObjectListPage):
    """A list whose rows update themselves. Its template includes `part_template`, which has the rows."""

    part_template: ClassVar[str]

    def values_of(self, rows: Iterable[Any]) -> Iterable[Any]:
        """Return the values by which the rows are compared with those that the browser has."""
        raise NotImplementedError

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        seen = version_of(context["paginator"].count, *self.values_of(context["rows"]))
        return {**context, "part_template": self.part_template, "seen": seen}

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        if not is_htmx(self.request):
            return super().render_to_response(context, **kwargs)
        if not context["rows"]:
            return HttpResponseClientRefresh()  # the whole page says what to do without any row
        return fragment(self.request, self.part_template, context)


class LiveObjectPage(ObjectPage, TemplateView):
    """The page of an object that updates itself. Its template includes `part_template`.

    When the object is deleted, its open page redirects to the list.
    """

    part_template: ClassVar[str]
    gone: ClassVar[str]
    """The message on the list after the object was deleted."""

    def shown(self) -> dict[str, Any]:
        """Return the context of the part. Most requests of open pages only compare `values_of` it.

        Queries that only the template needs are therefore lazy.
        """
        raise NotImplementedError

    def values_of(self, shown: dict[str, Any]) -> Iterable[Any]:
        """Return the values by which the part is compared with the one that the browser has.

        `may_change` is compared too.
        """
        raise NotImplementedError

    def part_of_gone(self) -> HttpResponse:
        """Return the answer for the open page of an object that was deleted."""
        messages.info(self.request, self.gone)
        return HttpResponseClientRedirect(NOUNS[self.noun].address)

    @cached_property
    def part(self) -> dict[str, Any]:
        shown = self.shown()
        return {**shown, "seen": version_of(self.may_change, *self.values_of(shown))}

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if is_htmx(request):
            try:
                seen = self.part["seen"]
            except Http404:
                return self.part_of_gone()
            if request.GET.get("seen") == seen:
                return HttpResponse(status=UNCHANGED_STATUS)
        return super().get(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(part_template=self.part_template, **self.part, **kwargs)

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        if is_htmx(self.request):
            return fragment(self.request, self.part_template, context)
        return super().render_to_response(context, **kwargs)
