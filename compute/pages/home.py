"""Home: what needs attention, the account's instances by status, and recent events."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.generic import TemplateView

from accounts.pages.base import AccountPage, signed_in


class HomeView(AccountPage, TemplateView):
    """``/home``. Staff, who are on no account, are led to their profile."""

    template_name = "compute/home.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.is_authenticated and signed_in(request).account_id is None:
            return redirect("profile")
        return super().dispatch(request, *args, **kwargs)
