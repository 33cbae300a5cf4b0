"""Django's middleware for the web pages: login, consent, admin, docs.

The API has no cookies, sessions, messages or forms, so its requests bypass these classes: each would cost every
request several microseconds for nothing, together as much as the views themselves.
"""

import re
from collections.abc import Awaitable

from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.deprecation import MiddlewareMixin

is_api = re.compile(r"/v4(?:beta)?(?:/|$)").match

# No form-action: browsers apply it to redirects too, and consent ends with a redirect to the client.
POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"
POLICY_WITH_SCRIPTS = f"{POLICY}; script-src 'self'"


class PagesOnly(MiddlewareMixin):
    """A mixin that has the API's requests bypass a middleware."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if is_api(request.path_info):
            return self.get_response(request)
        return super().__call__(request)


class Session(PagesOnly, SessionMiddleware):
    """`request.session`."""


class Common(PagesOnly, CommonMiddleware):
    """``Content-Length``, which API answers set themselves, and the check of the host's name."""


class Csrf(PagesOnly, CsrfViewMiddleware):
    """Tokens against forged forms. `process_view`, which API requests pass too, exempts the API's views."""


class Authentication(PagesOnly, AuthenticationMiddleware):
    """`request.user` by session."""


class Messages(PagesOnly, MessageMiddleware):
    """Messages to show on the next page."""


class Clickjacking(PagesOnly, XFrameOptionsMiddleware):
    """``X-Frame-Options``, which the API sets for itself."""
