"""Pages of objects that have a secret: staff decrypt it for a reason. It is shown once and stored nowhere.

The service passes the secret only into the answer to one POST. No redirect, session, message or log contains it,
and the answer must not be cached. A browser that reloads the answer sends the form again, and is asked for a new
reason. The record of the decryption is kept: who read the secret, and why.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.http import urlencode

from config.admin.pages import Panel, ReadOnlyPage
from config.admin.value_formats import link, list_of
from config.admin.verbs import Button
from config.display.plurals import counted
from config.errors import DomainError
from managed.models import Credential, Decryption, KeyPair
from managed.services.decryptions import MAX_REASON_LENGTH, newest

Holder = Credential | KeyPair
LABEL = "Decrypt"
DECRYPTIONS_SHOWN = 25


@dataclass(frozen=True, slots=True)
class Revealed:
    """One decrypted value. `value` must be stored nowhere."""

    name: str
    value: str

    def __repr__(self) -> str:
        return f"Revealed({self.name}, …)"

    @property
    def remark(self) -> str:
        """The length of the value, and whether it has spaces at its ends, which are invisible."""
        length = counted(len(self.value), "character")
        if self.value != self.value.strip() and "\n" not in self.value:
            return f"{length}, with a space at the beginning or end"
        return length


class ReasonForm(forms.Form):
    """The reason for a decryption. `seen` is the id of the newest decryption when the form was shown."""

    reason = forms.CharField(
        label="Reason",
        max_length=MAX_REASON_LENGTH,
        widget=forms.Textarea(attrs={"rows": 2, "autofocus": True}),
        help_text="Such as: Login to web-1 for ticket 12. The customer reads it in an event, with your username."
        " The list of"
        " decryptions keeps it.",
    )
    seen = forms.IntegerField(widget=forms.HiddenInput)


class RevealPage(ReadOnlyPage):
    """Gives a page the button Decrypt, for staff with the model's permission ``decrypt``.

    `reveal` decrypts the secret with a service, which records the decryption.
    """

    secret = ("encrypted",)

    def reveal(self, request: HttpRequest, obj: Any, reason: str, seen: int) -> Sequence[Revealed]:
        raise NotImplementedError

    def may_reveal(self, request: HttpRequest) -> bool:
        return request.user.has_perm(f"{self.opts.app_label}.decrypt_{self.opts.model_name}")

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        return super().get_queryset(request).select_related("account")

    def buttons(self, request: HttpRequest, obj: Any, back: str = "") -> list[Button]:
        own = [Button(LABEL, reveal_address(obj, back), True)] if self.may_reveal(request) else []
        return [*own, *super().buttons(request, obj, back)]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.decrypt)
        name = f"{self.opts.app_label}_{self.opts.model_name}_decrypt"
        return [path("<path:object_id>/decrypt/", view, name=name), *super().get_urls()]

    def decrypt(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask for the reason, and show the secret in the answer."""
        if request.method not in ("GET", "POST"):
            return HttpResponseNotAllowed(["GET", "POST"])
        obj = self.get_object(request, unquote(object_id))
        if not (self.may_reveal(request) and self.has_view_permission(request, obj)):
            raise PermissionDenied
        if obj is None:
            # Django's own, which is missing in the stubs.
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[attr-defined]
        if request.method == "GET" or "reason" not in request.POST:  # the button on its page posts none
            return self._ask_why(request, obj)
        form = ReasonForm(request.POST)
        if not form.is_valid():
            return self._ask_why(request, obj, form)
        reason, seen = form.cleaned_data["reason"], form.cleaned_data["seen"]
        try:
            with transaction.atomic():
                found = self.reveal(request, obj, reason, seen)
                self.log_change(request, obj, f"{LABEL}: the secret was read. {reason}")
        except DomainError as error:
            refusal = " ".join(problem.reason for problem in error.problems)
            self.log_change(request, obj, f"{LABEL} refused: {refusal}")
            return self._ask_why(request, obj, refusal=refusal)
        return self._answer(request, obj, "admin/managed/revealed.html", found=found, reason=reason)

    def _ask_why(
        self, request: HttpRequest, obj: Any, form: ReasonForm | None = None, refusal: str = ""
    ) -> HttpResponse:
        if form is None:
            form = ReasonForm(initial={"seen": newest(obj)})
        return self._answer(request, obj, "admin/managed/reveal.html", form=form, refusal=refusal)

    def _answer(self, request: HttpRequest, obj: Any, template: str, **context: Any) -> HttpResponse:
        context |= {
            **self.admin_site.each_context(request),
            "title": LABEL,
            "opts": self.opts,
            "object": obj,
            "back": self._back(request, obj),
        }
        return TemplateResponse(request, template, context, headers={"Cache-Control": "private, no-store"})


def reveal_address(obj: Holder, back: str = "") -> str:
    """Return the address that asks for the reason of a decryption.

    It returns to `back`, or to the object's page.
    """
    meta = obj._meta
    address = reverse(f"admin:{meta.app_label}_{meta.model_name}_decrypt", args=[quote(obj.pk)])
    return f"{address}?{urlencode({'next': back})}" if back else address


def decryptions_panel(obj: Holder) -> Panel:
    """Return the panel with the newest decryptions of the secret: when, by whom, and why."""
    name = "credential" if isinstance(obj, Credential) else "key_pair"
    rows = Decryption.objects.filter(**{name: obj.pk}).order_by("-pk")[:DECRYPTIONS_SHOWN]
    return Panel.of(
        "Decryptions",
        ("When", "By", "Why"),
        ((link(row, f"{row.created:%Y-%m-%d %H:%M:%S}"), row.username, row.reason) for row in rows),
        more=list_of(Decryption, **{f"{name}__exact": obj.pk}),
        empty="Nobody has read the secret.",
    )
