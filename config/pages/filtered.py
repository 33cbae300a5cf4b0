"""`FilteredPage`: a page whose address filters rows, under the limits that filters have in the API."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.response import SimpleTemplateResponse
from django.views.generic import View
from django_htmx.http import HttpResponseClientRefresh

from config.db import prepared
from config.errors import TooMany
from config.pages.views import UNCHANGED_STATUS, Limited, is_htmx
from config.web.headers import too_many

TOO_SLOW = "The filter took too long. Use a shorter text, fewer filters, or another order."
UNFILTERED = frozenset({"page", "seen"})
"""Query parameters that filter nothing: the number of a page, and the version that a browser has."""


class FilteredPage(View, Limited):
    """A page whose query parameters filter or order rows.

    The database ends a statement of a filtered page after `FILTER_TIMEOUT` seconds. Then the page is shown again
    with `refusal`, and must run no filter. The work counts under the API's limit on expensive calls. The request
    runs in the lane `lane_of_filters` (`config.server.lanes`). List the class before the view that has `get`.

    The requests of open pages that update themselves have a limit of their own. Above it, these pages stay as they
    are until the window ends. A form on the page calls `within_limits` when it shows the page again.
    """

    lane_of_filters: ClassVar[str] = "slow"
    refusal: str = ""
    """The reason why the filter was not run, or empty."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return self.within_limits(lambda: super(FilteredPage, self).get(request, *args, **kwargs))  # type: ignore[misc] # the view's

    def within_limits(self, show: Callable[[], HttpResponse]) -> HttpResponse:
        """Return the page that `show` makes, within the limits if the address has a filter.

        Beyond a limit, `show` is called again after `refusal` is set.
        """
        request = self.request
        if not any(any(texts) for name, texts in request.GET.lists() if name not in UNFILTERED):
            return _rendered(show())
        polls = is_htmx(request) and "seen" in request.GET
        try:
            with self.measured(polls=polls), prepared.ending_after(settings.FILTER_TIMEOUT):
                return _rendered(show())
        except prepared.TookTooLong:
            self._refuse(TOO_SLOW)
            answer, seconds = _rendered(show()), 0
            answer.status_code = 400
        except TooMany as error:
            if polls:
                return HttpResponse(status=UNCHANGED_STATUS)
            self._refuse(str(error))
            answer, seconds = _rendered(show()), error.seconds
        if is_htmx(request):
            return HttpResponseClientRefresh()  # htmx shows no refused part; the whole page has the reason
        return too_many(answer, seconds) if seconds else answer

    def _refuse(self, reason: str) -> None:
        """Forget the rows of the refused filter: a cached queryset would run again, without a limit."""
        self.refusal = reason
        for name in [each for each in vars(self) if isinstance(getattr(type(self), each, None), cached_property)]:
            delattr(self, name)


def _rendered(answer: HttpResponse) -> HttpResponse:
    """Run the template now, whose queries must be within the limits."""
    return answer.render() if isinstance(answer, SimpleTemplateResponse) else answer
