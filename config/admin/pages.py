"""Kinds of admin page. A list needs the same few queries whatever its length, and never scans a big table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin
from django.contrib.admin.views.main import ERROR_FLAG
from django.contrib.admin.widgets import AdminSplitDateTime, AutocompleteSelect
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.core.paginator import Paginator
from django.db import DataError
from django.db.models import DateTimeField, Field, ForeignKey, Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.functional import cached_property
from django.utils.safestring import SafeString
from django.utils.text import slugify

from config.admin.export import ExportMixin
from config.admin.tasks import Task
from config.admin.value_formats import age
from config.admin.verbs import VerbsMixin
from config.display.integers import is_id
from config.errors import DomainError, Problem


class CappedPaginator(Paginator):
    """A paginator that counts at most `MAX_COUNTED` rows, so that a list of millions opens as fast as a short one.

    Staff find the other rows by search and filters.
    """

    MAX_COUNTED = 10_000

    @cached_property
    def count(self) -> int:
        rows = cast(QuerySet, self.object_list)
        return rows.order_by().values("pk")[: self.MAX_COUNTED].count()


class ClosedFilter(admin.RelatedFieldListFilter):
    """A filter with many choices, which appear when the filter is opened."""

    template = "admin/closed_filter.html"


class HostFilter(ClosedFilter):
    """A filter by the host of a related object, with the title ``host`` instead of ``instance: host``."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.title = "host"


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

    def labelled_rows(self) -> Iterator[tuple[Row, list[tuple[str, Any]]]]:
        """Yield each row, and its cells with the header of each, which narrow windows show beside the cell."""
        for row in self.rows:
            yield row, list(zip(self.headers, row.cells, strict=True))

    @classmethod
    def of(cls, title: str, headers: Sequence[str], rows: Iterable[Sequence[Any]], **rest: Any) -> "Panel":
        return cls(title, headers, [Row(cells) for cells in rows], **rest)


class Autocomplete(AutocompleteSelect):
    """Django's widget, which looks up any value that is sent. This one drops values that cannot be a key."""

    def optgroups(self, name: str, value: Sequence[str], attr: dict[str, Any] | None = None) -> list[Any]:
        key = self.field.target_field
        return super().optgroups(name, [each for each in value if is_possible(key, each)], attr)


class NamedDateTime(AdminSplitDateTime):
    """Django's widget for a date and a time, with a name for each of its two fields."""

    NAMES = ("Date in UTC, such as 2026-05-31", "Time in UTC, such as 14:30")

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        for part, title in zip(context["widget"]["subwidgets"], self.NAMES, strict=True):
            part["attrs"]["aria-label"] = title
        return context


class Page(ExportMixin, VerbsMixin, admin.ModelAdmin):
    """The base of all the project's admin pages.

    `save_model` may call a service: the form shows the problems of a refusal at its fields.

    `search_fields` have three forms: ``=field`` (an exact number), ``^field`` (the beginning, in any case) and
    ``field`` (exact). Unlike in Django, none of them turns a lookup by id into a scan. `fixed` fields can be set on
    creation only.

    `link_filters` are lookups across relations that links from other pages use. Lookups of `secret` fields are
    refused, since a list that can be filtered by a digest reveals the digest bit by bit.

    `labels` and `help_texts` are the words for fields and displays, in place of the model's. Fields that a form
    declares have their own words.

    The column ``age`` shows how long ago the row's field `born` was. `task` is the group of the page on the first
    page and in the side bar.
    """

    task: Task
    show_full_result_count = False
    list_per_page = 50
    list_max_show_all = 0
    show_facets = admin.ShowFacets.NEVER
    fixed: tuple[str, ...] = ()
    link_filters: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    born = "created"
    labels: ClassVar[Mapping[str, str]] = {}
    help_texts: ClassVar[Mapping[str, str]] = {}
    formfield_overrides = {DateTimeField: {"form_class": forms.SplitDateTimeField, "widget": NamedDateTime}}

    @admin.display(description="Age")
    def age(self, obj: Any) -> SafeString:
        return age(getattr(obj, self.born))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        readonly = tuple(super().get_readonly_fields(request, obj))
        return readonly if obj is None else readonly + self.fixed

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        if lookup.split("__")[0] in self.secret:
            return False
        return lookup in self.link_filters or super().lookup_allowed(lookup, value, request)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the list. A filter with an impossible value is answered like a filter that Django itself refuses."""
        try:
            return super().changelist_view(request, extra_context)
        except (DataError, ValueError, ValidationError):
            if request.method == "GET" and request.GET.keys() == {ERROR_FLAG}:
                raise
            return HttpResponseRedirect(f"{request.path}?{ERROR_FLAG}=1")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        term = search_term.strip()
        return (queryset.filter(self.matches(term)) if term else queryset), False

    def matches(self, term: str) -> Q:
        """Return the condition that a row must meet for a search for `term` to find it."""
        found = Q(pk__in=[])
        for name in map(str, self.search_fields):
            if name.startswith("="):
                found |= Q(**{name[1:]: int(term)}) if is_id(term) else Q(pk__in=[])
            elif name.startswith("^"):
                found |= Q(**{f"{name[1:]}__istartswith": term})
            else:
                found |= Q(**{name: term})
        return found

    def formfield_for_foreignkey(
        self, db_field: ForeignKey, request: HttpRequest, **kwargs: Any
    ) -> forms.ModelChoiceField | None:
        if db_field.name in self.get_autocomplete_fields(request):
            kwargs.setdefault("widget", Autocomplete(db_field, self.admin_site))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Return the initial values from the query string, converted to their fields' types, without impossible
        values.

        Django passes the raw text on to the widgets.
        """
        filled = {}
        for name, value in super().get_changeform_initial_data(request).items():
            try:
                field = self.opts.get_field(name)
            except FieldDoesNotExist:
                continue
            if isinstance(value, list):
                filled[name] = value
            elif isinstance(field, Field) and is_possible(field, value):
                filled[name] = field.to_python(value)
        return filled

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except DomainError as error:
            # Nothing was saved: show the form again with its input, and with the service's problems as its errors.
            request.refused = error.problems  # type: ignore[attr-defined] # for `get_form`
            return super().changeform_view(request, object_id, form_url, extra_context)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        words: dict[str, Any] = {"help_texts": self._help_texts(request, obj)}
        if self.labels:
            words["labels"] = self.labels
        form = super().get_form(request, obj, change=change, **{**words, **kwargs})
        problems = getattr(request, "refused", ())
        return refused(form, problems) if problems else form

    def _help_texts(self, request: HttpRequest, obj: Any) -> dict[str, str]:
        """Return the help texts of the form and the page, without the texts of fields that were typed on creation:
        these texts say what to type."""
        options = getattr(self.form, "_meta", None)  # Django's plain form has none
        texts = {**((options and options.help_texts) or {}), **self.help_texts}
        now_fixed = {*self.get_readonly_fields(request, obj)} - {*self.readonly_fields} if obj else set()
        return texts | dict.fromkeys(now_fixed & texts.keys(), "")

    def panels(self, request: HttpRequest, obj: Any) -> list[Panel]:
        """Return the panels below the fields of `obj`."""
        return []

    def figures(self, request: HttpRequest, obj: Any) -> Sequence[Any]:
        """Return the tables with bars and the charts that are between the fields and the panels of `obj`."""
        return ()

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> HttpResponse:
        if obj is not None:
            context["figures"] = self.figures(request, obj)
            context["panels"] = self.panels(request, obj)
            context["verbs"] = self.buttons(request, obj)
            context["open_forms"] = self.open_forms(request, obj)
            context["sections"] = sections(context)
        return super().render_change_form(request, context, add, change, form_url, obj)


class ReadOnlyPage(Page):
    """Shows rows that only services and jobs may change. Staff change them only through the page's verbs.

    The queries do not read the rows' `secret` fields.
    """

    paginator = CappedPaginator

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        return super().get_queryset(request).defer(*self.secret)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


SECTIONS_SEEN = 4
"""A page with at least this number of sections has an index of them."""


def sections(context: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the index of a long page: the names of its sections, and their ids in the templates.

    Empty for a short page.
    """
    fieldsets = [
        (str(each.name), f"fieldset-0-{index}-heading")
        for index, each in enumerate(context["adminform"])
        if each.name
    ]
    panels = [(each.title, f"panel-{slugify(each.title)}") for each in context["panels"]]
    forms = [(each.label, f"form-{each.name}") for each in context["open_forms"]]
    found = [*fieldsets, *panels, *forms]
    return found if len(found) >= SECTIONS_SEEN else []


def is_possible(field: Field, value: str) -> bool:
    """Tell whether a field can have this value. For a foreign key, the key of the related object counts."""
    try:
        field.run_validators(field.to_python(value))
    except (TypeError, ValidationError, ValueError):  # arrays and JSON pass on the errors of their parsers
        return False
    return True


def refused(form: type[forms.ModelForm], problems: Sequence[Problem]) -> type[forms.ModelForm]:
    """Return a subclass of the form that reports `problems` as its errors, whatever its input."""

    class Refused(form):  # type: ignore[valid-type, misc] # a base known only when it runs
        def full_clean(self) -> None:
            super().full_clean()
            for problem in problems:
                self.add_error(problem.field if problem.field in self.fields else None, problem.reason)

    return Refused
