"""Views of the customer's pages: a form whose values a service receives, and a part of a page that updates
itself.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, ClassVar

from django.contrib import messages
from django.db import IntegrityError
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.generic import FormView, View

from config.api.exceptions import violated
from config.errors import DomainError, Invalid, Missing, TooMany
from config.pages.forms import add_problems
from config.web.headers import too_many

UNCHANGED = 204
"""htmx swaps nothing for an answer with this status."""


class ServiceFormView(FormView):
    """A form whose values a service receives.

    The reasons of a refusal are shown at the form's fields. The database's constraints refuse values that are
    taken, as for the API. Subclasses define `perform` and `get_success_url`.
    """

    renamed: ClassVar[Mapping[str, str]] = {}
    """The service's field names that differ from the form's."""

    def perform(self, form: Any) -> str:
        """Call the service. Return the message for the next page; empty for none."""
        raise NotImplementedError

    def form_valid(self, form: Form) -> HttpResponse:
        try:
            message = self.perform(form)
        except Missing as error:
            if error.problems[0].field is None:  # another request was first
                raise Http404 from error
            return self.refused(form, error)
        except DomainError as error:
            return self.refused(form, error)
        except IntegrityError as error:
            problem = violated(error)
            if problem is None:
                raise
            return self.refused(form, Invalid(problem["reason"], problem["field"]))
        if message:
            messages.success(self.request, message)
        return redirect(self.get_success_url())

    def refused(self, form: Form, error: DomainError) -> HttpResponse:
        """Show the form again with its input and the reasons."""
        add_problems(form, error, self.renamed)
        page = self.form_invalid(form)
        return too_many(page, error.seconds) if isinstance(error, TooMany) else page


def fragment(request: HttpRequest, template: str, context: Mapping[str, Any]) -> HttpResponse:
    """Answer a request for a part of a page that updates itself: the part, or 204 if it has not changed.

    ``context["seen"]`` is the `version_of` the values that the part shows. The part sends it back as ``?seen=``
    with the next request.
    """
    if request.GET.get("seen") == context["seen"]:
        return HttpResponse(status=UNCHANGED)
    return render(request, template, dict(context))


def is_htmx(request: HttpRequest) -> bool:
    """Tell whether the request comes from htmx, for a part of the page."""
    return bool(request.htmx)  # type: ignore[attr-defined] # config.pages.middleware.Htmx sets it


def version_of(*values: Any) -> str:
    """A short hash of values; equal values have equal hashes."""
    return blake2b(repr(values).encode(), digest_size=8).hexdigest()


class VerbView(View):
    """A verb without a form: a POST calls a service and redirects. A refusal becomes a message on the next page.

    Subclasses define `perform` and `get_success_url`.
    """

    http_method_names = ["post", "options"]

    def perform(self) -> str:
        """Call the service. Return the message for the next page; empty for none."""
        raise NotImplementedError

    def get_success_url(self) -> str:
        raise NotImplementedError

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            message = self.perform()
        except Missing as error:  # another request was first
            raise Http404 from error
        except DomainError as error:
            for problem in error.problems:
                messages.error(request, problem.reason)
        else:
            if message:
                messages.success(request, message)
        return redirect(self.get_success_url())
