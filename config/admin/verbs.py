"""Verbs: what staff can do to an object, as a button on its page and as an action on the list.

A verb calls the same service as the API would. Its result, or the reason it was refused with, is shown as a
message and written into Django's admin log.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode

from config.admin.display import page_of
from config.errors import Denied, DomainError

MOST = 100
"""How many objects one action of a list takes: each is a transaction of its own."""


@dataclass(frozen=True, slots=True)
class Verb:
    """One thing that can be done.

    `effect` does it and says in a short sentence what came of it; it refuses by raising a `DomainError`.
    `confirm` is a question that has to be answered first. `offered` tells whether it makes sense for an object
    as it was read; the service decides.
    """

    name: str
    label: str
    effect: Callable[[HttpRequest, Any], str]
    confirm: str = ""
    danger: bool = False
    permission: str = "change"
    offered: Callable[[Any], bool] = lambda obj: True


@dataclass(frozen=True, slots=True)
class Button:
    label: str
    address: str
    danger: bool
    offered: bool


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a verb on one object."""

    subject: str
    done: bool
    sentence: str


class VerbsMixin(admin.ModelAdmin):
    """Gives a ModelAdmin its `verbs`, under ``<id>/do/<verb>/`` and in the list's menu."""

    verbs: tuple[Verb, ...] = ()

    def may(self, request: HttpRequest, verb: Verb) -> bool:
        """Whether the staff user has the model permission that the verb asks for."""
        return request.user.has_perm(f"{self.opts.app_label}.{verb.permission}_{self.opts.model_name}")

    def may_on(self, request: HttpRequest, verb: Verb, obj: Any) -> bool:
        """As `may`, for one object."""
        return self.may(request, verb)

    def buttons(self, request: HttpRequest, obj: Model, back: str = "") -> list[Button]:
        """The verbs that this user may use on `obj`; they return to the address `back`, or to its page."""
        query = f"?{urlencode({'next': back})}" if back else ""
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_do"
        key = quote(obj.pk)
        return [
            Button(verb.label, reverse(name, args=[key, verb.name]) + query, verb.danger, verb.offered(obj))
            for verb in self.verbs
            if self.may_on(request, verb, obj)
        ]

    def get_urls(self):
        name = f"{self.opts.app_label}_{self.opts.model_name}_do"
        view = self.admin_site.admin_view(self.do)
        return [path("<path:object_id>/do/<slug:name>/", view, name=name), *super().get_urls()]

    def do(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """Use one verb on one object, and return to where its button was."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        verb = next((verb for verb in self.verbs if verb.name == name), None)
        if verb is None or not self.may(request, verb):
            raise PermissionDenied
        obj = self.get_object(request, unquote(object_id))
        if obj is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[attr-defined]
        back = self._back(request, obj)
        if not self.may_on(request, verb, obj):
            raise PermissionDenied
        if verb.confirm and "confirmed" not in request.POST:
            return self._ask(request, verb, [obj], cancel=back)
        result = self._use(request, verb, obj)
        messages.add_message(
            request,
            messages.SUCCESS if result.done else messages.ERROR,
            f"{verb.label}, {result.subject}: {result.sentence}",
        )
        gone = not self.get_queryset(request).filter(pk=obj.pk).exists()
        return HttpResponseRedirect(self._list_address() if gone and back == page_of(obj) else back)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        actions = super().get_actions(request)
        if "_popup" in request.GET:
            return actions
        for verb in self.verbs:
            if self.may(request, verb):
                use = partial(_use_on_selected, verb)
                actions[verb.name] = (use, verb.name, verb.label)  # type: ignore[assignment]
        return actions

    def _use_on_all(self, request: HttpRequest, verb: Verb, rows: QuerySet) -> HttpResponse | None:
        objects = list(rows[: MOST + 1])
        if len(objects) > MOST:
            messages.error(request, f"Nothing was done: select at most {MOST} at a time.")
            return None
        if verb.confirm and "confirmed" not in request.POST:
            return self._ask(request, verb, objects, cancel=request.get_full_path(), action=verb.name)
        self._tell(request, verb, [self._use(request, verb, obj) for obj in objects])
        return None

    def _use(self, request: HttpRequest, verb: Verb, obj: Model) -> Result:
        """Do it and log it in one transaction: nothing is done unlogged. A refusal is logged as well."""
        subject = f"{self.opts.verbose_name} {obj}"
        key = obj.pk
        try:
            if not self.may_on(request, verb, obj):
                raise Denied("Your admin permissions do not allow this.")
            with transaction.atomic():
                sentence = verb.effect(request, obj)
                obj.pk = key  # a deletion takes it off, and the log names the object by it
                _log(request, obj, f"{verb.label}: {sentence}")
        except DomainError as error:
            reason = " ".join(problem.reason for problem in error.problems)
            _log(request, obj, f"{verb.label} refused: {reason}")
            return Result(subject, False, reason)
        return Result(subject, True, sentence)

    def _tell(self, request: HttpRequest, verb: Verb, results: list[Result]) -> None:
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
        self, request: HttpRequest, verb: Verb, objects: list[Model], *, cancel: str, action: str = ""
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": verb.label,
            "opts": self.opts,
            "verb": verb,
            "objects": objects,
            "action": action,
            "cancel": cancel,
        }
        return TemplateResponse(request, "admin/confirm_verb.html", context)

    def _back(self, request: HttpRequest, obj: Model) -> str:
        back = request.GET.get("next", "")
        if url_has_allowed_host_and_scheme(back, {request.get_host()}, request.is_secure()):
            return back
        return page_of(obj)

    def _list_address(self) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")


def _use_on_selected(verb: Verb, page: VerbsMixin, request: HttpRequest, rows: QuerySet) -> HttpResponse | None:
    return page._use_on_all(request, verb, rows)


def _log(request: HttpRequest, obj: Model, message: str) -> None:
    assert request.user.pk is not None  # noqa: S101  (the admin let them in)
    LogEntry.objects.log_actions(request.user.pk, [obj], CHANGE, message, single_object=True)
