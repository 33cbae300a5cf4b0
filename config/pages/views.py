"""Views of the customer's pages: a form whose values a service receives, and a part of a page that updates
itself.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from hashlib import blake2b
from typing import Any, ClassVar

from django.contrib import messages
from django.db import IntegrityError
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.generic import FormView, View

from config.api.exceptions import violated
from config.api.reasons import TEXTS_TOO_LONG
from config.errors import DomainError, Invalid, Missing, TooMany
from config.pages.forms import add_problems
from config.pages.reasons import reason_on_page, text_on_page
from config.web.headers import too_many

UNCHANGED_STATUS = 204
"""htmx swaps nothing for an answer with this status."""

JOB_TAG = "job"
"""The tag of a message that a job has begun."""
TOO_LARGE = "skerry.form_too_large"
"""The key of `META` of a request whose form is too large to be read."""


def show_too_large(request: HttpRequest, show: Callable[[], HttpResponse]) -> HttpResponse:
    """Answer a form that is too large to be read: with its empty page, which has the reason, and with 413.

    `show` calls the page. Nobody has checked the form's token, so the page is only shown, as for a GET.
    """
    request.META[TOO_LARGE] = True
    request._mark_post_parse_error()  # type: ignore[attr-defined] # as Django does: from now on, POST is empty
    method, request.method = request.method, "GET"
    page = show()
    request.method = method  # for the log
    if page.status_code == 200:
        page.status_code = 413
    return page


class Limited:
    """Base of views whose work can have a limit. An app's base of pages overrides the methods."""

    def limited(self) -> AbstractContextManager[None]:
        """Return a context in which `perform` runs. It raises `TooMany` beyond a limit."""
        return nullcontext()

    def measured(self, *, polls: bool = False) -> AbstractContextManager[None]:
        """Return a context whose work counts under the API's limit on expensive calls.

        With `polls`, the work counts under an equal limit for pages that update themselves. Raises `TooMany` if
        earlier work reached the limit.
        """
        return nullcontext()


class JobMessage(str):
    """The message that a job has begun. It leaves the page when no job is under way. Other messages stay."""


def confirm(request: HttpRequest, message: str) -> None:
    """Show the message of success on the next page."""
    messages.success(request, message, extra_tags=JOB_TAG if isinstance(message, JobMessage) else "")


class ServiceFormView(FormView, Limited):
    """A form whose values a service receives.

    The reasons of a refusal are shown at the form's fields in the words of pages. The database's constraints refuse
    values that are taken, as for the API. Subclasses define `perform` and `get_success_url`.
    """

    renamed: ClassVar[Mapping[str, str]] = {}
    """The service's field names that differ from the form's."""
    file_limit: ClassVar[str] = ""
    """The maximum size of the file in the form, with its unit. Empty for a form without a file."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.META.get(TOO_LARGE):
            messages.error(request, self._too_large())
        return super().get(request, *args, **kwargs)

    def _too_large(self) -> str:
        if self.file_limit:
            return f"The file is too large. It must be at most {self.file_limit}."
        return TEXTS_TOO_LONG

    def perform(self, form: Any) -> str:
        """Call the service. Return the message for the next page; empty for none."""
        raise NotImplementedError

    def form_valid(self, form: Form) -> HttpResponse:
        try:
            with self.limited():
                message = self.perform(form)
        except Missing as error:
            if error.problems[0].field is None:  # another request was first
                raise Http404 from error
            return self.refused(form, error)
        except DomainError as error:
            return self.refused(form, error)
        except IntegrityError as error:
            return self.refused(form, _refusal(error))
        if message:
            confirm(self.request, message)
        return redirect(self.get_success_url())

    def refused(self, form: Form, error: DomainError) -> HttpResponse:
        """Show the form again with its input and the reasons."""
        add_problems(form, error, self.renamed)
        page = self.form_invalid(form)
        return too_many(page, error.seconds) if isinstance(error, TooMany) else page


UPDATE = "update"
"""The name of the button that shows a form again with updated choices, and of the value that htmx sends for it."""


class FormPage(ServiceFormView):
    """A page with one form, and its texts. `back` is the address of its button *Cancel*.

    In the texts, `{page.name}` is replaced by the page's attribute of that name, as in `{page.object}`.
    """

    template_name = "components/form_page.html"
    heading: ClassVar[str] = ""
    introduction: ClassVar[str] = ""
    verb: ClassVar[str] = ""
    """The text of the button."""
    dangerous: ClassVar[bool] = False

    def unavailable(self) -> str:
        """Return the reason why the form cannot be sent now; empty if it can."""
        return ""

    def back_address(self) -> str:
        return self.get_success_url()

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(
            heading=self.heading.format(page=self), introduction=self.introduction.format(page=self),
            verb=self.verb, dangerous=self.dangerous, back=self.back_address(), **kwargs,
        )  # fmt: skip
        reason = self.unavailable() or getattr(context["form"], "reason", "")
        return {"unavailable": text_on_page(reason), **context}


class UpdatedFormPage(FormPage):
    """A page whose form changes with its input. Sent with `UPDATE`, the form is shown again and nothing is done.

    htmx sends the form when an input changes, and takes the changed part from the page. Without JavaScript, a
    button does so.
    """

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if UPDATE not in request.POST:
            return super().post(request, *args, **kwargs)
        form = self.get_form()
        form.full_clean()
        form.errors.clear()
        self.check_update(form)
        return self.render_to_response(self.get_context_data(form=form))

    def check_update(self, form: Any) -> None:
        """Add the problems that are shown before the form is sent for good. By default none."""


def fragment(request: HttpRequest, template: str, context: Mapping[str, Any]) -> HttpResponse:
    """Answer a request for a part of a page that updates itself: the part, or 204 if it has not changed.

    ``context["seen"]`` is the `version_of` the values that the part shows. The part sends it back as ``?seen=``
    with the next request.
    """
    if request.GET.get("seen") == context["seen"]:
        return HttpResponse(status=UNCHANGED_STATUS)
    return render(request, template, dict(context))


def is_htmx(request: HttpRequest) -> bool:
    """Tell whether the request comes from htmx, for a part of the page."""
    return bool(request.htmx)  # type: ignore[attr-defined] # config.pages.middleware.Htmx sets it


def version_of(*values: Any) -> str:
    """A short hash of values; equal values have equal hashes."""
    return blake2b(repr(values).encode(), digest_size=8).hexdigest()


class VerbView(View, Limited):
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
            with self.limited():
                message = self.perform()
        except Missing as error:  # another request was first
            raise Http404 from error
        except DomainError as error:
            _show(request, error)
        except IntegrityError as error:
            _show(request, _refusal(error))
        else:
            if message:
                confirm(request, message)
        return redirect(self.get_success_url())


def _refusal(error: IntegrityError) -> DomainError:
    """Return the API's error for a violated constraint of the database. Raises all other errors again."""
    problem = violated(error)
    if problem is None:
        raise error
    return Invalid(problem["reason"], problem["field"])


def _show(request: HttpRequest, error: DomainError) -> None:
    for problem in error.problems:
        messages.error(request, reason_on_page(problem))
