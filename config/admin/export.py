"""Lists as CSV: the rows that the list's filters and search select, with the list's own columns.

A file has at most `MAX_ROWS` rows. Rows are read in chunks and written as text. The whole text is kept in memory,
as the server keeps each answer until it is read (`config.server.application`).

The transaction that reads the rows also logs their number as a staff action, before anything is sent. An export
that cannot be logged is not sent.
"""

import csv
from collections.abc import Generator, Iterable
from contextlib import closing
from html import unescape
from io import StringIO
from itertools import chain, islice
from typing import Any

from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import label_for_field, lookup_field
from django.contrib.admin.views.main import ERROR_FLAG
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import DataError, transaction
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import strip_tags
from django.utils.safestring import SafeString
from django.utils.timezone import now

from config.admin.log import staff_id
from config.display.plurals import counted
from config.display.spreadsheets import harmless

MAX_ROWS = 50_000
"""The maximum number of rows in one file. If there are more rows, the last line says so."""
CHUNK = 1_000
MAX_LOGGED_LENGTH = 1_000
"""The maximum number of characters of an export's filters that are logged."""


class ExportMixin(admin.ModelAdmin):
    """Gives a ModelAdmin ``csv/`` below its list. Staff who may view the list may download it."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.export)
        return [path("csv/", view, name=f"{self.opts.app_label}_{self.opts.model_name}_csv"), *super().get_urls()]

    def export(self, request: HttpRequest) -> HttpResponse:
        """Return the list that the request's filters select, and log the number of its rows.

        Invalid filters redirect to the list.
        """
        if not self.has_view_permission(request):
            raise PermissionDenied
        content = StringIO()
        # Close the rows inside their transaction: otherwise the cursor would be closed in whichever transaction is
        # open later.
        with transaction.atomic(), closing(self._rows(request)) as rows:
            try:
                # A separate savepoint: an error in a column later is no error of the filters.
                with transaction.atomic():
                    first = list(islice(rows, 1))
            except (IncorrectLookupParameters, DataError, ValueError, ValidationError):
                address = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
                return HttpResponseRedirect(f"{address}?{ERROR_FLAG}=1")
            self._log(request, self._write(content, request, chain(first, rows)))
        file = f"{self.opts.model_name}-{now():%Y-%m-%d-%H%M}.csv"
        headers = {"Content-Disposition": f'attachment; filename="{file}"', "X-Content-Type-Options": "nosniff"}
        return HttpResponse(content.getvalue(), content_type="text/csv; charset=utf-8", headers=headers)

    def _rows(self, request: HttpRequest) -> Generator[Model]:
        yield from self.get_changelist_instance(request).queryset[: MAX_ROWS + 1].iterator(chunk_size=CHUNK)

    def _write(self, content: StringIO, request: HttpRequest, rows: Iterable[Model]) -> int:
        """Write the rows below their titles, `MAX_ROWS` of them at most, and return how many there are."""
        names = [name for name in self.get_list_display(request) if isinstance(name, str)]
        writer = csv.writer(content)
        titles = [str(label_for_field(name, self.model, self)) for name in names]
        writer.writerow([self.opts.pk.name, *titles])
        number = 0
        for obj in rows:
            if number == MAX_ROWS:
                writer.writerow([f"The list has more rows. This file has only the first {MAX_ROWS}."])
                break
            writer.writerow([harmless(obj.pk), *(harmless(self._text(name, obj)) for name in names)])
            number += 1
        return number

    def _log(self, request: HttpRequest, number: int) -> None:
        """Log who exported which list, with which filters, and how many rows."""
        # All values of a name: the list takes them as alternatives.
        asked = ", ".join(f"{name}={value!r}" for name, values in request.GET.lists() for value in values)
        if len(asked) > MAX_LOGGED_LENGTH:
            asked = f"{asked[:MAX_LOGGED_LENGTH]}…"
        LogEntry.objects.create(
            user_id=staff_id(request),
            content_type=ContentType.objects.get_for_model(self.model),
            object_repr=f"list of {self.opts.verbose_name_plural}"[:200],
            action_flag=CHANGE,
            change_message=f"CSV: {counted(number, 'row')}, {asked or 'the whole list'}.",
        )

    def _text(self, name: str, obj: Model) -> Any:
        """Return the value of a column without the tags that make it a link or a pill."""
        field, _, value = lookup_field(name, obj, self)
        if field is not None and getattr(field, "choices", None):
            value = getattr(obj, f"get_{field.name}_display")()
        if isinstance(value, SafeString):
            return unescape(strip_tags(value))
        return "" if value is None else str(value)
