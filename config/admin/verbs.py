"""Verbs: actions of staff on an object, as a button on its page and as an action on the list.

A verb calls the same service as the API. Its result, or the reason of a refusal, is shown as a message and written
to Django's admin log. A verb that needs input has a form, on the object's page or on a page of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect, QueryDict
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.safestring import SafeString

from config.admin.log import staff_id
from config.admin.value_formats import page_of
from config.errors import Denied, DomainError, Problem, TooMany
from config.web.headers import too_many

MAX_SELECTED = 100
"""The maximum number of objects for one action of a list. Each object is a transaction of its own."""


@dataclass(frozen=True, slots=True)
class Once:
    """The result of a verb that created a value to be shown once. Only the page that answers contains the value.

    `sentence` is the result, which is logged. `shown` is the value, which is not logged. `advice` says what to do
    with the value.
    """

    sentence: str
    # Django logs a template's whole context if a variable is missing.
    shown: str = field(repr=False)
    advice: str


@dataclass(frozen=True, slots=True)
class Verb:
    """An operation that staff can carry out on an object.

    `effect` carries it out and returns the result as a short sentence, or `Once`. It refuses with a `DomainError`.
    `confirm` is a question that staff must answer first. `offered` tells whether the verb makes sense for an object
    as it was read: otherwise its page has no button. The service makes the final decision.

    `form` builds the verb's form from an object and the data sent (None at first). The effect takes the form's
    cleaned data as a third argument. The form shows the effect's problems at its fields. Such a verb is for one
    object and is in no list's menu. With `open`, the form is on the object's page, below the panels.

    `permission` is an action on the object's model, or another permission: ``compute.add_hostmigration``.
    `ask_for_many` is the question before a verb without `confirm` is used on a selection. A verb that is
    `for_lists` has no button on pages, because another verb there asks for more input.
    """

    name: str
    label: str
    effect: Callable[..., str | Once]
    confirm: str = ""
    danger: bool = False
    permission: str = "change"
    offered: Callable[[Any], bool] = lambda obj: True
    form: Callable[[Any, QueryDict | None], forms.Form] | None = None
    open: bool = False
    ask_for_many: str = ""
    for_lists: bool = False

    @property
    def question(self) -> str:
        """The question before the verb is used on a selection of a list."""
        return self.confirm or self.ask_for_many


@dataclass(frozen=True, slots=True)
class Button:
    label: str
    address: str
    danger: bool

    def html(self) -> SafeString:
        """Return the button as HTML for a cell of a panel.

        The button posts through the form of the page's verbs.
        """
        return SafeString(render_to_string("admin/verb_button.html", {"button": self}))


@dataclass(frozen=True, slots=True)
class OpenForm:
    """The form of a verb on an object's page. `name` is its id there."""

    name: str
    label: str
    address: str
    form: forms.Form


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a verb on one object.

    `problems` are the problems of the service's refusal. `limit` is the refusal itself if it was for too many
    attempts. `once` is a value to be shown once.
    """

    subject: str
    done: bool
    sentence: str
    problems: tuple[Problem, ...] = ()
    limit: TooMany | None = None
    once: Once | None = None


class VerbsMixin(admin.ModelAdmin):
    """Gives a ModelAdmin its `verbs`, under ``<id>/do/<verb>/`` and in the list's menu."""

    verbs: Sequence[Verb] = ()

    def may(self, request: HttpRequest, verb: Verb) -> bool:
        """Tell whether the staff user has the permission of the verb."""
        if "." in verb.permission:
            return request.user.has_perm(verb.permission)
        return request.user.has_perm(f"{self.opts.app_label}.{verb.permission}_{self.opts.model_name}")

    def may_on(self, request: HttpRequest, verb: Verb, obj: Any) -> bool:
        """Tell whether the staff user may use the verb on `obj`."""
        return self.may(request, verb)

    def buttons(self, request: HttpRequest, obj: Model, back: str = "") -> list[Button]:
        """Return the buttons of the verbs that apply to `obj` and that this user may use.

        Each returns to `back`, or to the object's page.
        """
        query = f"?{urlencode({'next': back})}" if back else ""
        return [
            Button(verb.label, self._address_of(verb, obj) + query, verb.danger)
            for verb in self.verbs
            if not (verb.open or verb.for_lists) and self.may_on(request, verb, obj) and verb.offered(obj)
        ]

    def open_forms(self, request: HttpRequest, obj: Model) -> list[OpenForm]:
        """Return the forms on the page of `obj` for this user."""
        found = []
        for verb in self.verbs:
            if verb.open and verb.form and verb.offered(obj) and self.may_on(request, verb, obj):
                name, form = f"do-{verb.name}", verb.form(obj, None)
                for field in form.fields.values():
                    field.widget.attrs["form"] = name  # the page's own form is around it
                found.append(OpenForm(name, verb.label, self._address_of(verb, obj), form))
        return found

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_do"
        view = self.admin_site.admin_view(self.do)
        return [path("<path:object_id>/do/<slug:name>/", view, name=name), *super().get_urls()]

    def do(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """Use one verb on one object, and redirect to the page on which its button was."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        verb = next((verb for verb in self.verbs if verb.name == name), None)
        if verb is None or not self.may(request, verb):
            raise PermissionDenied
        obj = self.get_object(request, unquote(object_id))
        if obj is None:
            # Django's own, which the stubs leave out
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[attr-defined]
        back = self._back(request, obj)
        if not self.may_on(request, verb, obj):
            raise PermissionDenied
        asked = None
        if verb.form is not None:
            asked = verb.form(obj, request.POST if "confirmed" in request.POST else None)
            if not asked.is_valid():
                return self._ask(request, verb, [obj], cancel=back, form=asked)
        elif verb.confirm and "confirmed" not in request.POST:
            return self._ask(request, verb, [obj], cancel=back)
        result = self._use(request, verb, obj, asked)
        if asked is not None and not result.done:
            for problem in result.problems:
                asked.add_error(problem.field if problem.field in asked.fields else None, problem.reason)
            page = self._ask(request, verb, [obj], cancel=back, form=asked)
            return page if result.limit is None else too_many(page, result.limit.seconds)
        if result.once is not None:
            return self._show_once(request, verb, obj, result.once)
        messages.add_message(
            request,
            messages.SUCCESS if result.done else messages.ERROR,
            f"{verb.label}, {result.subject}: {result.sentence}",
        )
        gone = not self.get_queryset(request).filter(pk=obj.pk).exists()
        return HttpResponseRedirect(self._list_address() if gone and back == page_of(obj) else back)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        actions: dict[str, Any] = super().get_actions(request)
        if "_popup" in request.GET:
            return actions
        for verb in self.verbs:
            if verb.form is None and self.may(request, verb):
                use = partial(_use_on_selected, verb)
                actions[verb.name] = (use, verb.name, verb.label)
        return actions

    def _use_on_all(self, request: HttpRequest, verb: Verb, rows: QuerySet) -> HttpResponse | None:
        objects = list(rows[: MAX_SELECTED + 1])
        if len(objects) > MAX_SELECTED:
            messages.error(request, f"Nothing was done: select at most {MAX_SELECTED} at a time.")
            return None
        if verb.question and "confirmed" not in request.POST:
            return self._ask(request, verb, objects, cancel=request.get_full_path(), action=verb.name)
        self._report(request, verb, [self._use(request, verb, obj) for obj in objects])
        return None

    def _use(self, request: HttpRequest, verb: Verb, obj: Model, form: forms.Form | None = None) -> Result:
        """Run the verb's effect and log it in one transaction: no effect stays unlogged.

        Refusals are logged too.
        """
        subject = f"{self.opts.verbose_name} {obj}"
        key = obj.pk
        try:
            if not self.may_on(request, verb, obj):
                raise Denied("Your admin permissions do not allow this.")
            with transaction.atomic():
                made = verb.effect(request, obj, *([] if form is None else [form.cleaned_data]))
                once, sentence = (made, made.sentence) if isinstance(made, Once) else (None, made)
                obj.pk = key  # a deletion clears the key, by which the log names the object
                _log(request, obj, f"{verb.label}: {sentence}")
        except DomainError as error:
            reason = " ".join(problem.reason for problem in error.problems)
            _log(request, obj, f"{verb.label} refused: {reason}")
            return Result(subject, False, reason, error.problems, error if isinstance(error, TooMany) else None)
        return Result(subject, True, sentence, once=once)

    def _show_once(self, request: HttpRequest, verb: Verb, obj: Model, once: Once) -> HttpResponse:
        """Show the value in this answer: a message for the next page would be stored in a cookie or a session until
        then.
        """
        context = {
            **self.admin_site.each_context(request),
            "title": verb.label,
            "opts": self.opts,
            "verb": verb,
            "obj": obj,
            "back": page_of(obj),
            "once": once,
        }
        return TemplateResponse(request, "admin/shown_once.html", context)

    def _report(self, request: HttpRequest, verb: Verb, results: list[Result]) -> None:
        done = [result for result in results if result.done]
        if len(done) == 1:
            messages.success(request, f"{verb.label}, {done[0].subject}: {done[0].sentence}")
        elif done:
            messages.success(request, f"{verb.label}: done for {len(done)} {self.opts.verbose_name_plural}.")
        reasons: dict[str, list[str]] = {}
        for result in results:
            if not result.done:
                reasons.setdefault(result.sentence, []).append(result.subject)
        for reason, subjects in reasons.items():
            named = ", ".join(subjects[:5]) + (f" and {len(subjects) - 5} more" if len(subjects) > 5 else "")
            messages.error(request, f"{verb.label} refused for {named}: {reason}")

    def _ask(
        self,
        request: HttpRequest,
        verb: Verb,
        objects: list[Model],
        *,
        cancel: str,
        action: str = "",
        form: forms.Form | None = None,
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": verb.label,
            "opts": self.opts,
            "verb": verb,
            "objects": objects,
            "action": action,
            "cancel": cancel,
            "form": form,
            "of": None if action else objects[0],
        }
        return TemplateResponse(request, "admin/confirm_verb.html", context)

    def _back(self, request: HttpRequest, obj: Model) -> str:
        back = request.GET.get("next", "")
        if url_has_allowed_host_and_scheme(back, {request.get_host()}, request.is_secure()):
            return back
        return page_of(obj)

    def _address_of(self, verb: Verb, obj: Model) -> str:
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_do"
        return reverse(name, args=[quote(obj.pk), verb.name])

    def _list_address(self) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")


def _use_on_selected(verb: Verb, page: VerbsMixin, request: HttpRequest, rows: QuerySet) -> HttpResponse | None:
    return page._use_on_all(request, verb, rows)


def _log(request: HttpRequest, obj: Model, message: str) -> None:
    LogEntry.objects.log_actions(staff_id(request), [obj], CHANGE, message, single_object=True)
