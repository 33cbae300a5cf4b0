"""Kinds of admin page. Every list costs the same few queries whatever its length, and no scan of a big table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ERROR_FLAG
from django.core.paginator import Paginator
from django.db import DataError
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.functional import cached_property

from config.admin.verbs import VerbsMixin


class CappedPaginator(Paginator):
    """Counts at most `MOST` rows, so that a list of millions opens as fast as a short one.

    What lies beyond is found by searching and filtering, not by turning a hundred pages.
    """

    MOST = 10_000

    @cached_property
    def count(self) -> int:
        rows: QuerySet = self.object_list  # type: ignore[assignment]
        return rows.order_by().values("pk")[: self.MOST].count()

    @property
    def capped(self) -> bool:
        return self.count == self.MOST


class ClosedFilter(admin.RelatedFieldListFilter):
    """A filter with many choices, which are shown when it is opened."""

    template = "admin/closed_filter.html"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a panel; `tone` colours all of it."""

    cells: Sequence[Any]
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """A small table of related rows on an object's page. `more` is the address of the whole list."""

    title: str
    headers: Sequence[str]
    rows: list[Row] = field(default_factory=list)
    more: str = ""
    empty: str = "None."

    @classmethod
    def of(cls, title: str, headers: Sequence[str], rows: Iterable[Sequence[Any]], **rest: Any) -> "Panel":
        return cls(title, headers, [Row(cells) for cells in rows], **rest)


class Page(VerbsMixin, admin.ModelAdmin):
    """What all our pages share.

    `search_fields` are read as ``=field`` (a number, exactly), ``^field`` (how it begins, in any case) and
    ``field`` (exactly): unlike Django's, none of them turns a lookup by id into a scan. `fixed` fields can be
    given once, on creation. `link_filters` are lookups across relations that links from other pages use; lookups
    of `secret` fields are refused, since a list that can be filtered by a digest tells it bit by bit.
    """

    show_full_result_count = False
    list_per_page = 50
    list_max_show_all = 0
    show_facets = admin.ShowFacets.NEVER
    fixed: tuple[str, ...] = ()
    link_filters: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        readonly = tuple(super().get_readonly_fields(request, obj))
        return readonly if obj is None else readonly + self.fixed

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        if lookup.split("__")[0] in self.secret:
            return False
        return lookup in self.link_filters or super().lookup_allowed(lookup, value, request)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list. A filter by what is no such value is answered as one that Django refuses itself."""
        try:
            return super().changelist_view(request, extra_context)
        except (DataError, ValueError):
            if ERROR_FLAG in request.GET:
                raise
            return HttpResponseRedirect(f"{request.path}?{ERROR_FLAG}=1")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        term = search_term.strip()
        return (queryset.filter(self.matches(term)) if term else queryset), False

    def matches(self, term: str) -> Q:
        """The condition of a row that a search for `term` finds."""
        found = Q(pk__in=[])
        for name in map(str, self.search_fields):
            if name.startswith("="):
                found |= Q(**{name[1:]: int(term)}) if is_number(term) else Q(pk__in=[])
            elif name.startswith("^"):
                found |= Q(**{f"{name[1:]}__istartswith": term})
            else:
                found |= Q(**{name: term})
        return found

    def panels(self, request: HttpRequest, obj: Any) -> list[Panel]:
        """What is shown below the fields of `obj`."""
        return []

    def render_change_form(self, request, context, add=False, change=False, form_url="", obj=None):
        if obj is not None:
            context["panels"] = self.panels(request, obj)
            context["verbs"] = self.buttons(request, obj)
        return super().render_change_form(request, context, add, change, form_url, obj)


class ReadOnlyPage(Page):
    """Shows rows that only services and jobs may change. What staff may do to them are its verbs."""

    paginator = CappedPaginator

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


def is_number(term: str) -> bool:
    return term.isascii() and term.isdecimal()
