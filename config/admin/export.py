"""Lists as CSV: the rows that the list's filters and search leave, with the list's own columns, streamed."""

import csv
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import chain
from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import label_for_field, lookup_field
from django.contrib.admin.views.main import ERROR_FLAG
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import DataError
from django.db.models import Model
from django.http import HttpRequest, HttpResponseRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils.html import strip_tags
from django.utils.safestring import SafeString
from django.utils.timezone import now

MOST = 50_000
"""Rows of one file. The last line says where there are more."""
CHUNK = 1_000
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""How texts begin that a spreadsheet would take for a formula: customers choose labels, staff open files."""


class _Echo:
    """A file for `csv.writer` that gives each line back in place of writing it."""

    def write(self, line: str) -> str:
        return line


class ExportMixin(admin.ModelAdmin):
    """Gives a ModelAdmin ``csv/`` below its list. Who may see the list may have it as a file."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.export)
        return [path("csv/", view, name=f"{self.opts.app_label}_{self.opts.model_name}_csv"), *super().get_urls()]

    def export(self, request: HttpRequest) -> HttpResponseBase:
        """The list of the request's filters. Bad filters are refused: one row is read before the answer begins."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            rows = self.get_changelist_instance(request).queryset[: MOST + 1].iterator(chunk_size=CHUNK)
            first = next(rows, None)
        except (IncorrectLookupParameters, DataError, ValueError, ValidationError):
            address = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
            return HttpResponseRedirect(f"{address}?{ERROR_FLAG}=1")
        names = [name for name in self.get_list_display(request) if isinstance(name, str)]
        content = self._lines(names, rows if first is None else chain([first], rows))
        file = f"{self.opts.model_name}-{now():%Y-%m-%d-%H%M}.csv"
        headers = {"Content-Disposition": f'attachment; filename="{file}"', "X-Content-Type-Options": "nosniff"}
        return StreamingHttpResponse(content, content_type="text/csv; charset=utf-8", headers=headers)

    def _lines(self, names: list[str], rows: Iterable[Model]) -> Iterator[str]:
        writer = csv.writer(_Echo())
        titles = [str(label_for_field(name, self.model, self)) for name in names]
        yield writer.writerow([self.opts.pk.name, *titles])
        for number, obj in enumerate(rows):
            if number == MOST:
                yield writer.writerow([f"There are more: only the first {MOST} are here."])
                return
            yield writer.writerow([harmless(obj.pk), *(harmless(self._text(name, obj)) for name in names)])

    def _text(self, name: str, obj: Model) -> Any:
        """The value of a column, without the tags that make it a link or a pill."""
        field, _, value = lookup_field(name, obj, self)
        if field is not None and getattr(field, "choices", None):
            value = getattr(obj, f"get_{field.name}_display")()
        if isinstance(value, SafeString):
            return unescape(strip_tags(value))
        return "" if value is None else str(value)


def harmless(value: Any) -> str:
    """A text that no spreadsheet takes for a formula."""
    text = " ".join(str(value).split())
    return f"'{text}" if text.startswith(FORMULAS) else text
