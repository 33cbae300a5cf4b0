"""The records of a domain: a table that is edited in place, and the pages with the same forms.

htmx puts a form into the table, and then the changed row. Without scripts, the same addresses are pages.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.text import Truncator

from accounts.pages.objects import ObjectFormPage, Tab
from compute.filters.domains.records import RecordListFilterSet
from compute.models import Domain, DomainRecord
from compute.pages.domains.base import DomainPage
from compute.pages.domains.record_form import FIELDS_OF_TYPE, FIRST_VALUES, EditRecordForm, RecordForm
from compute.serializers.domains.records import RecordResource
from compute.services.domains import records
from config.pages.forms import BodyForm
from config.pages.lists import Column, ListView, query_back
from config.pages.views import VerbView, is_htmx
from config.web.client_address import address_of

MEANINGS: Mapping[str, str] = RecordResource().fields["type"].help_text.values  # type: ignore[union-attr] # Meanings
"""A sentence about each type, as in the API's document."""
MAX_SHOWN_LENGTH = 60
"""The largest length of a record in a heading or a message, in characters."""


def shown(record: DomainRecord) -> str:
    """Return a record for a heading or a message. A text in it is shortened."""
    return Truncator(str(record)).chars(MAX_SHOWN_LENGTH)


def way_back(query: str) -> str:
    """Return the query of pages below the list. It has the query of the list, to which they return."""
    return f"?{urlencode({'back': query})}" if query else ""


class RecordsView(DomainPage, ListView):
    """``/home/domains/<id>``: the records of the domain."""

    template_name = "compute/domains/records.html"
    tab = "domain"
    filterset_class = RecordListFilterSet
    columns = (
        Column("Name", "name"),
        Column("Type", "type"),
        Column("Value", "target"),
        Column("TTL", "ttl_sec"),
    )

    @cached_property
    def object(self) -> Domain:
        return get_object_or_404(Domain.objects.visible_to(self.actor), pk=self.kwargs["pk"])

    def get_queryset(self) -> QuerySet[DomainRecord]:
        return self.domain.records.all()

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(way_back=way_back(self.request.GET.urlencode()), **kwargs)


class RecordPage(DomainPage):
    """A page below the list of records. ``?back=`` has the query of the list, to which the page returns."""

    tab = "domain"
    part_noun = "record"

    @property
    def back(self) -> str:
        """The query of the list."""
        return query_back(self.request)

    def back_address(self) -> str:
        return f"{super().back_address()}?{self.back}" if self.back else super().back_address()

    @cached_property
    def record(self) -> DomainRecord:
        found = self.domain.records.filter(pk=self.kwargs["record"]).first()
        if found is None:
            raise Http404
        return found

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(way_back=way_back(self.back), **kwargs)


class RowView(RecordPage):
    """``/home/domains/<id>/records/<id>``: one row of the table, for htmx. Browsers are redirected to the table."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        row = row_of(self, self.record)
        if not is_htmx(request):
            return redirect(self.back_address())
        return render(request, "compute/domains/record_row.html", row)


def row_of(page: RecordPage, record: DomainRecord) -> dict[str, Any]:
    """Return the context of a row that replaces a form. The row gets the focus."""
    return {
        "domain": page.domain,
        "record": record,
        "may_change": page.may_change,
        "way_back": way_back(page.back),
        "focus": True,
    }


class RecordFormPage(RecordPage, ObjectFormPage):
    """A page with the form of a record. htmx gets the form as a row of the table, and later the saved row."""

    form_class = RecordForm
    row_template: ClassVar[str] = "compute/domains/record_form_row.html"
    saved: DomainRecord

    @property
    def kind(self) -> str:
        """The type of the record."""
        raise NotImplementedError

    def get_form_kwargs(self) -> dict[str, Any]:
        about = {"kind": self.kind, "domain": self.domain}
        if is_htmx(self.request):  # several forms can be open
            about["auto_id"] = f"record-{self.kwargs.get('record', 'new')}-%s"
        return super().get_form_kwargs() | about

    def get_template_names(self) -> list[str]:
        return [self.row_template] if is_htmx(self.request) else super().get_template_names()

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(meaning=MEANINGS[self.kind], **kwargs)
        if is_htmx(self.request):
            context["form"].focus()
        return context

    def form_valid(self, form: Any) -> HttpResponse:
        answer = super().form_valid(form)
        saved = isinstance(answer, HttpResponseRedirect)
        return self.saved_row() if saved and is_htmx(self.request) else answer

    def saved_row(self) -> HttpResponse:
        """Return the saved row for htmx."""
        return render(
            self.request, "compute/domains/record_row.html", {**row_of(self, self.saved), "status": "Saved"}
        )

    def done(self, message: str) -> str:
        """Return the message for the next page. htmx shows none: the row has a status."""
        return "" if is_htmx(self.request) else message


class NewRecordView(RecordFormPage):
    """``/home/domains/<id>/records/new?type=MX``: the fields that the type needs. Tabs link to the other types."""

    template_name = "compute/domains/record_new.html"
    row_template = "compute/domains/record_new_row.html"
    operations = frozenset({"domains_records_create"})
    heading = "Add a record to {page.object}"
    verb = "Add record"

    @property
    def kind(self) -> str:
        wanted = self.request.GET.get("type", "")
        return wanted if wanted in FIELDS_OF_TYPE else next(iter(FIELDS_OF_TYPE))

    def get_initial(self) -> dict[str, Any]:
        return FIRST_VALUES.get(self.kind, {})

    def unavailable(self) -> str:
        return records.SLAVE if self.domain.type == Domain.Type.SLAVE else ""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(kinds=[self._tab(kind) for kind in FIELDS_OF_TYPE], **kwargs)

    def _tab(self, kind: str) -> Tab:
        query = self.request.GET.copy()
        query["type"] = kind
        address = reverse("domain-record-new", args=[self.domain.pk])
        return Tab(kind, f"{address}?{query.urlencode()}", kind == self.kind)

    def perform(self, form: BodyForm) -> str:
        remote = address_of(self.request)
        self.saved = records.create(self.actor, self.domain, form.given, form.given.problems, remote)
        return self.done(f"The record {shown(self.saved)} was added.")

    def saved_row(self) -> HttpResponse:
        """Return an empty form for the next record, and the saved row below it."""
        kwargs = {**self.get_form_kwargs(), "data": None, "files": None}
        form = self.get_form_class()(**kwargs)
        context = self.get_context_data(form=form, added=shown(self.saved))
        return render(self.request, self.row_template, {**row_of(self, self.saved), **context, "focus": False})


class EditRecordView(RecordFormPage):
    """``/home/domains/<id>/records/<id>/edit``."""

    operations = frozenset({"domains_records_update"})
    form_class = EditRecordForm
    heading = "Edit {page.shown}"
    verb = "Save"

    @property
    def shown(self) -> str:
        return shown(self.record)

    @property
    def kind(self) -> str:
        return self.record.type

    def get_initial(self) -> dict[str, Any]:
        return RecordForm.initial_of(self.record)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(record=self.record, **kwargs)

    def perform(self, form: BodyForm) -> str:
        remote = address_of(self.request)
        self.saved = records.update(self.actor, self.record, form.given, form.given.problems, remote)
        return self.done(f"The record {shown(self.saved)} was saved.")


class DeleteRecordView(RecordPage, VerbView):
    """``/home/domains/<id>/records/<id>/delete``. The button in the row asks before."""

    operations = frozenset({"domains_records_destroy"})

    def perform(self) -> str:
        records.delete(self.actor, self.record)
        return f"The record {shown(self.record)} was deleted."
