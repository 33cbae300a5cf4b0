"""Django's middleware for the web pages: login, consent, admin, docs.

The API has no cookies, sessions, messages or forms, so its requests bypass these classes. Each would add several
microseconds to every request without any use, together as much time as the views themselves.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.deprecation import MiddlewareMixin
from django_htmx.middleware import HtmxDetails

from config.pages.policies import PERMISSIONS, POLICY, POLICY_WITHOUT_REDIRECTS
from config.pages.views import ServiceFormView, show_too_large
from config.web.headers import prefers_html
from config.web.paths import is_api

ANY_HOST = {"/healthz", "/livez", "/readyz", "/version", "/metrics"}
"""Paths that are answered for any host name."""


class PagesOnly(MiddlewareMixin):
    """A mixin that makes the API's requests bypass a middleware."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if is_api(request.path_info):
            return self.get_response(request)
        return super().__call__(request)


class Policies(PagesOnly):
    """Sets ``Permissions-Policy``, and ``Content-Security-Policy`` unless the view has set one."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        in_admin = request.path_info.startswith("/admin/")
        response.headers.setdefault("Content-Security-Policy", POLICY_WITHOUT_REDIRECTS if in_admin else POLICY)
        response.headers["Permissions-Policy"] = PERMISSIONS
        return response


class Session(PagesOnly, SessionMiddleware):
    """`request.session`."""


class Common(PagesOnly, CommonMiddleware):
    """``Content-Length``, which API answers set themselves, and the check of the host's name.

    Load balancers and Prometheus ask processes by addresses that no ``ALLOWED_HOSTS`` has, such as those of pods.
    The answers to them depend on no name.
    """

    def process_request(self, request: HttpRequest) -> HttpResponsePermanentRedirect | None:
        return None if request.path_info in ANY_HOST else super().process_request(request)


class Csrf(PagesOnly, CsrfViewMiddleware):
    """Tokens against forged forms. `process_view`, which API requests pass too, exempts the API's views.

    It is the first to read a form. If the form is too large to be read, its page answers without the form's values.
    """

    def process_view(  # type: ignore[override] # the page of a form is no refusal
        self, request: HttpRequest, callback: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HttpResponseBase | None:
        try:
            return super().process_view(request, callback, args, kwargs)
        except RequestDataTooBig:
            has_form = issubclass(getattr(callback, "view_class", object), ServiceFormView)
            if not has_form or not prefers_html(request):
                raise
            return show_too_large(request, lambda: callback(request, *args, **kwargs))


class Authentication(PagesOnly, AuthenticationMiddleware):
    """`request.user` by session."""


class Messages(PagesOnly, MessageMiddleware):
    """Messages to show on the next page."""


class Clickjacking(PagesOnly, XFrameOptionsMiddleware):
    """``X-Frame-Options``, which the API sets for itself."""


class Htmx(PagesOnly, MiddlewareMixin):
    """`request.htmx`: whether htmx asks for a part of a page, and for which."""

    def process_request(self, request: HttpRequest) -> None:
        request.htmx = HtmxDetails(request)  # type: ignore[attr-defined] # as django-htmx's own middleware does
