"""Django's middleware for the web pages: login, consent, admin, docs.

The API has no cookies, sessions, messages or forms, so its requests pass these by: each would cost every request
several microseconds for nothing, together as much as the views themselves.
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


class PagesOnly(MiddlewareMixin):
    """Mixed into a middleware, lets requests of the API pass it by."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if is_api(request.path_info):
            return self.get_response(request)
        return super().__call__(request)


class Session(PagesOnly, SessionMiddleware):
    """`request.session`."""


class Common(PagesOnly, CommonMiddleware):
    """``Content-Length``, which API answers bring along, and the check of the host's name."""


class Csrf(PagesOnly, CsrfViewMiddleware):
    """Tokens against forged forms. Its check of views knows that the API's are exempt."""


class Authentication(PagesOnly, AuthenticationMiddleware):
    """`request.user` by session."""


class Messages(PagesOnly, MessageMiddleware):
    """Messages to show on the next page."""


class Clickjacking(PagesOnly, XFrameOptionsMiddleware):
    """``X-Frame-Options``, which the API sets for itself."""
