"""`VerbPage`: a page with the form of one verb of an instance."""

from typing import Any, ClassVar

from django.http import HttpResponse
from django.shortcuts import render

from compute.pages.base import InstancePage
from compute.services.instances.availability import is_busy, refusals
from config.pages.views import ServiceFormView


class VerbPage(InstancePage, ServiceFormView):
    """A page with a form that starts a job on the instance, and leads to the instance's overview.

    If a job of this `kind` cannot start now, the button is disabled with the reason.
    """

    template_name = "components/form_page.html"
    kind: ClassVar[str] = ""
    heading: ClassVar[str] = ""
    introduction: ClassVar[str] = ""
    verb: ClassVar[str] = ""
    dangerous: ClassVar[bool] = False

    def unavailable(self) -> str:
        """The reason why the verb cannot be done now; empty if it can."""
        return refusals(self.instance, busy=is_busy(self.instance))[self.kind]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(
            heading=f"{self.heading} {self.instance}", introduction=self.introduction, verb=self.verb,
            dangerous=self.dangerous, back=self.address("instance"), **kwargs,
        )  # fmt: skip
        return {"unavailable": self.unavailable(), **context}


class SecretVerbPage(VerbPage):
    """A `VerbPage` whose form can generate a password. The page after it shows the password, once."""

    def form_valid(self, form: Any) -> HttpResponse:
        answer = super().form_valid(form)
        if form.errors or not form.generated:
            return answer
        context = self.get_context_data(form=form, password=form.generated)
        return render(self.request, "compute/password_shown.html", context)
