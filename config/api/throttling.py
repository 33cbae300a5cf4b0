"""The throttle class of all views: each request counts against all its limits, in one round trip to Redis."""

from collections.abc import Callable
from typing import Any

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from config.api.known_users import Known, known_users
from config.limits import rates
from config.web.client_address import network_of


class RateLimits(BaseThrottle):
    """The limits of the setting RATE_LIMITS: overall, for each endpoint, of the account, and the action's own one.

    They count by user and account, or by address for an anonymous caller. The action's own limit is the
    `throttle_scope` of its declaration, or the view's. `allow_request` stores the verdict in `view.verdict`, from
    which the headers ``X-RateLimit-*`` are made.

    A token's user never changes. So once it is known, Redis counts while PostgreSQL looks up the token, and the
    request waits once for both. The view calls `begin` before it authenticates. If the token turns out to be
    invalid, the address is counted as well.
    """

    def __init__(self) -> None:
        self.known: Known | None = None
        self.counting: Callable[[], rates.Verdict] | None = None

    def begin(self, request: Request, view: Any) -> None:
        """Begin to count for the user if this process has seen the token before."""
        self.known = known_users.get(request._request.META.get("HTTP_AUTHORIZATION"))
        if self.known is not None:
            self.counting = self._count(request, view, self.known)

    def end(self, view: Any) -> None:
        """Wait for the verdict of the count that `begin` started.

        This thread must not count anything else before.
        """
        if self.counting is not None:
            view.verdict = self.counting()

    def allow_request(self, request: Request, view: Any) -> bool:
        caller = view.caller
        user = None if caller is None else (caller.user_id, caller.account_id)
        if self.counting is None or user != self.known:
            view.verdict = self._count(request, view, user)()
            known_users.learn(request.META.get("HTTP_AUTHORIZATION"), user)
        return view.verdict.allowed

    def _count(self, request: Request, view: Any, known: Known | None) -> Callable[[], rates.Verdict]:
        own = rates.limits()
        user, account = known or (None, None)
        subject = f"user:{user}" if user is not None else f"address:{network_of(request)}"
        endpoint = f"{type(view).__name__}.{view.action or request.method}"
        return own.limiter.begin(subject, endpoint, own.of(view.limit, account), account)
