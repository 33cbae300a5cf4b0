"""What all pages of users have in common."""

import ipaddress

from django.http import HttpRequest
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.generic import View
from rest_framework.throttling import BaseThrottle

# No form-action: browsers hold it against redirects too, and consent ends with one to the client.
POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"
_address_of = BaseThrottle().get_ident


class Page(View):
    """A page that holds what is one user's: kept by no cache, shown in no frame, without scripts."""

    @method_decorator(never_cache)
    def dispatch(self, request, *args, **kwargs):
        response = super().dispatch(request, *args, **kwargs)
        response["Content-Security-Policy"] = POLICY
        return response


def address_of(request: HttpRequest) -> str:
    """Where a request comes from, as rate limits have it: behind as many proxies as NUM_PROXIES says."""
    try:
        return str(ipaddress.ip_address(_address_of(request)))  # type: ignore[arg-type] # META is all it looks at
    except ValueError:
        # a proxy that passes on what clients write: its own address is at least true
        return request.META["REMOTE_ADDR"]
