"""`ListView`: a table of objects. The address has the filters, the order and the page, so that it can be shared."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from django.core.paginator import Page, Paginator
from django.db.models import F, QuerySet
from django.db.models.expressions import Func, OrderBy
from django.http import HttpRequest, QueryDict
from django_filters.views import FilterView

from config.pages.filtered import FilteredPage
from config.pages.reasons import text_on_page

MAX_BACK_PARAMETERS = 100


def query_back(request: HttpRequest) -> str:
    """Return the query of the list in ``?back=``, encoded anew, because it comes from the address.

    Queries with more than `MAX_BACK_PARAMETERS` are ignored. Django answers 400 to more than 1,000.
    """
    given = request.GET.get("back", "")
    return QueryDict(given).urlencode() if given.count("&") < MAX_BACK_PARAMETERS else ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a list. `order` is the name of its order in the address; empty if it has none.

    `by` is the expression to order by. By default it is the column of the table with the name of the order.
    """

    label: str
    order: str = ""
    by: F | Func | None = None

    def ordering(self, *, descending: bool) -> OrderBy:
        by = self.by or F(self.order)
        return by.desc() if descending else by.asc()


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column, as the page shows it. `order` is the order that its link requests."""

    label: str
    order: str
    sorted: str
    """``ascending`` or ``descending``, as in `aria-sort`; empty for the columns that do not set the order."""


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb in the menu of a row. `reason` says why it is unavailable now; the text is empty if it is available.

    A `posted` verb has no form: its entry in the menu is a button.
    """

    label: str
    address: str
    reason: str = ""
    posted: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", text_on_page(self.reason))


@dataclass(frozen=True, slots=True)
class Row:
    """An object of a list, with the verbs that the user may take."""

    object: Any
    verbs: tuple[Verb, ...] = ()


class ListView(FilteredPage, FilterView):
    """A list of objects with filters, an order and pages.

    Subclasses define `get_queryset`, `filterset_class` and `columns`. The first column sets the order by default.
    Wrong page numbers and unknown orders are corrected silently, because no one types them. If the value of a
    filter is wrong or a filter takes too long, the page shows the reason, and the list is empty.
    """

    columns: ClassVar[tuple[Column, ...]]
    newest_first: ClassVar[bool] = False
    """Whether the first column is descending by default."""
    paginate_by = 50

    def get_filterset(self, filterset_class: Any) -> Any:
        filterset = super().get_filterset(filterset_class)
        if self.refusal:
            filterset.form.add_error(None, self.refusal)  # the form is invalid, so the list is empty
        return filterset

    def get_filterset_kwargs(self, filterset_class: Any) -> dict[str, Any]:
        given = super().get_filterset_kwargs(filterset_class)
        # the key last, so that equal rows have the same order on each page
        given["queryset"] = given["queryset"].order_by(self._order()[1], "pk")
        return given

    def paginate_queryset(self, queryset: QuerySet, page_size: int) -> tuple[Paginator, Page, Any, bool]:
        paginator = self.get_paginator(queryset, page_size)
        page = paginator.get_page(self.request.GET.get(self.page_kwarg))
        return paginator, page, page.object_list, page.has_other_pages()

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add `filtered`, whether a filter is set, and `blank`, whether the list is empty without any filter."""
        context = super().get_context_data(**kwargs)
        form = self.filterset.form
        filtered = form.is_bound and (bool(form.errors) or any(map(_is_set, form.cleaned_data.values())))
        blank = not filtered and not context["paginator"].count
        return {**context, "heads": self.heads(), "filtered": filtered, "blank": blank}

    def heads(self) -> Iterator[Head]:
        current, ordering = self._order()
        for column in self.columns:
            if column is not current:
                yield Head(column.label, column.order, "")
            elif ordering.descending:
                yield Head(column.label, column.order, "descending")
            else:
                yield Head(column.label, f"-{column.order}", "ascending")

    def _order(self) -> tuple[Column, OrderBy]:
        """Return the column that orders the list, and its ordering."""
        wanted = self.request.GET.get("order", "")
        name = wanted.removeprefix("-")
        for column in self.columns:
            if name and column.order == name:
                return column, column.ordering(descending=wanted.startswith("-"))
        return self.columns[0], self.columns[0].ordering(descending=self.newest_first)


def _is_set(value: Any) -> bool:
    """Tell whether the value of a filter leaves out rows. The choice *no* does so too."""
    return value is False or bool(value)
