"""Admission of a request: its caller, the rate limits, and the permissions of token and user.

In this order: the caller (401), the rate limits (429), the method (405), the token's scope (401), the user's grant
(403). Headers that all answers have in common are set here too, refusals included.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any, ClassVar, Generic, TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from rest_framework.exceptions import (
    AuthenticationFailed,
    MethodNotAllowed,
    NotAuthenticated,
    PermissionDenied,
    Throttled,
)
from rest_framework.request import Request
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from config import limits
from config.api import access, exceptions, unsupported
from config.api.known_users import Known, known_users
from config.api.parsers import JSONOnly, JSONParser
from config.api.responses import JSONResponse
from config.client_address import network_of
from config.errors import ScopeLacking, TooMany
from config.headers import Headers, add_headers, prepared
from config.logging import current_subject

NO_STORE = "private, max-age=0, no-store"
QUARTER_HOUR = "private, max-age=900"

HEADERS = {
    "Vary": "Authorization, X-Filter",
    "Content_Security_Policy": "default-src 'none'",
    "X_Content_Type_Options": "nosniff",
    "X_Frame_Options": "DENY",
}
_parsers = (JSONParser(),)
_negotiator = JSONOnly()

A = TypeVar("A", bound=access.Caller)
R = TypeVar("R", bound=HttpResponse)


def expensive(action: Callable[..., R]) -> Callable[..., R]:
    """Decorates an action whose cost grows with the account, or that may cost a good part of a second: its seconds
    of work are counted and limited (`config.metering`)."""

    @wraps(action)
    def measured(self: "Admission[Any]", request: Request, *args: Any, **kwargs: Any) -> R:
        with self.measured():
            return action(self, request, *args, **kwargs)

    measured.expensive = True  # type: ignore[attr-defined] # a read is answered in a lane (`config.server.lanes`)
    return measured


class Admission(ViewSetMixin, APIView, Generic[A]):
    """The part of a `ResourceViewSet` that runs before the action, and after it for the headers."""

    scopes: ClassVar[Mapping[str, access.Scope | str | tuple[str, ...]]] = {}
    """The OAuth scope of each action."""
    grants: ClassVar[Mapping[str, str]] = {}
    """The user's grant that each action needs."""
    throttle: ClassVar[Mapping[str, str]] = {}
    """The extra rate limit of an action, by its name in the setting RATE_LIMITS."""
    lanes: ClassVar[Mapping[str, str]] = {}
    """The lane in which an action is answered that is not answered as its method says (`config.server.lanes`)."""
    cache_control: ClassVar[str] = NO_STORE

    # DRF would work these out for every request, and add them to the answer; ours are in `finalize_response`
    default_response_headers: ClassVar[dict[str, str]] = {}

    _scopes: ClassVar[dict[str, access.Scope]] = {}

    caller: A | None
    """None where there is no token, or none that is good."""
    verdict: limits.Verdict | None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        unsupported.check_view(cls)
        if set(cls.scopes) != set(cls.grants):
            lacking = sorted(set(cls.scopes) ^ set(cls.grants))
            raise ImproperlyConfigured(f"{cls.__name__}: scope or grant not declared for {', '.join(lacking)}")
        if unknown := sorted(set(cls.lanes) - set(cls.scopes)):
            raise ImproperlyConfigured(f"{cls.__name__}: a lane is declared for {', '.join(unknown)}, no action")
        for grant in cls.grants.values():
            access.check_grant_name(grant)
        cls._scopes = {action: access.Scope.of(scope) for action, scope in cls.scopes.items()}

    @classmethod
    def as_view(cls, actions: dict[str, Any] | None = None, **initkwargs: Any) -> Any:
        """Refuses to route an action that declares no scope or grant: an open endpoint cannot be an oversight."""
        unsupported.check_route(cls, initkwargs)
        for action in (actions or {}).values():
            if action not in cls._scopes:
                raise ImproperlyConfigured(f"{cls.__name__}.{action} declares no scope and grant")
            if not hasattr(cls, action):
                raise ImproperlyConfigured(f"{cls.__name__} has no action {action}")
        return super().as_view(actions, **initkwargs)

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        self.action = self.action_map.get((request.method or "").lower(), "")
        self.caller = self.verdict = None
        context = {"view": self, "args": args, "kwargs": kwargs}
        return Request(request, _parsers, self.get_authenticators(), _negotiator, context)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if request.method == "OPTIONS":
            return
        failure = self.authenticate_and_count(request)
        if self.verdict is not None and not self.verdict.allowed:
            raise Throttled
        if not self.action:
            raise MethodNotAllowed(request.method or "")
        if failure is not None:
            raise failure
        self.authorize()

    def authenticate(self, request: Request) -> AuthenticationFailed | None:
        """Find the caller. A token that is no good is returned, not raised: it counts for the rate limit."""
        try:
            self.identify(request)
        except AuthenticationFailed as failure:
            request._authenticator = None  # type: ignore[attr-defined] # DRF's own, which the stubs leave out
            self.caller = None
            return failure
        return None

    def identify(self, request: Any) -> None:
        """Ask the authenticators. Of the attributes that are set here the stubs know few."""
        for authenticator in request.authenticators:
            found = authenticator.authenticate(request)
            if found is not None:
                request._authenticator = authenticator
                caller, request.auth = found
                self.caller = request.user = caller
                request._request.caller = caller  # for the access log
                current_subject.set({"user_id": caller.pk, "account_id": caller.account_id})
                return

    def authenticate_and_count(self, request: Request) -> AuthenticationFailed | None:
        """Find the caller and count the request against its limits: by user and account, or by address if nobody
        is known.

        A token's user never changes. So once it is known, Redis counts while PostgreSQL looks at the token, and
        the request waits once for both. Where the token turns out to be no good, the address is counted as well.
        """
        guess = known_users.get(request.META.get("HTTP_AUTHORIZATION"))
        pending = None if guess is None else self.begin_count(request, guess)
        try:
            failure = self.authenticate(request)
        finally:
            if pending is not None:
                self.verdict = pending()
        user = None if self.caller is None else (self.caller.user_id, self.caller.account_id)
        if pending is None or user != guess:
            self.verdict = self.begin_count(request, user)()
            known_users.learn(request.META.get("HTTP_AUTHORIZATION"), user)
        return failure

    def begin_count(self, request: Request, known: Known | None) -> Callable[[], limits.Verdict]:
        own = limits.limits()
        user, account = known or (None, None)
        subject = f"user:{user}" if user is not None else f"address:{network_of(request)}"
        endpoint = f"{type(self).__name__}.{self.action or request.method}"
        return own.limiter.begin(subject, endpoint, own.of(self.throttle.get(self.action), account), account)

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Count an expensive call's seconds of work for the caller's account, or for the address of a stranger.

        Raises `TooMany` if calls before it cost more than the setting RATE_LIMITS allows as ``expensive``.
        """
        meter = limits.limits().meter
        caller = self.caller
        subject = f"address:{network_of(self.request)}" if caller is None else f"account:{caller.account_id}"
        if seconds := meter.wait(subject):
            raise TooMany(exceptions.reasons.TOO_MANY_REQUESTS, int(meter.most), seconds)
        with meter.measured(subject):
            yield

    def authorize(self) -> None:
        """Check the token's scope, then the user's grant as far as it does not depend on the entity."""
        scope = self._scopes[self.action]
        if self.caller is None:
            if scope.token:
                raise NotAuthenticated
            return
        if not scope.allows(self.caller):
            raise ScopeLacking(exceptions.reasons.SCOPE_LACKING)
        if not access.granted(self.caller, self.grants[self.action]):
            raise PermissionDenied

    @property
    def actor(self) -> A:
        """The caller, in actions that need one: without a token they answer 401, as by their scope."""
        if self.caller is None:
            raise NotAuthenticated
        return self.caller

    # DRF passes on any response of Django's; its stubs want its own, which these three answer in place of
    def options(  # type: ignore[override]
        self, request: Request, *args: Any, **kwargs: Any
    ) -> JSONResponse:
        response = JSONResponse()
        response["Allow"] = ", ".join(self.allowed_methods)
        return response

    def handle_exception(self, exc: Exception) -> JSONResponse:  # type: ignore[override]
        if isinstance(exc, TooMany):
            # the headers are about the limit that refuses, as they are where requests are counted
            self.verdict = limits.Verdict(False, exc.count, 0, exc.seconds)
        return exceptions.answer(exc, self.request)

    def finalize_response(  # type: ignore[override]
        self, request: Request, response: HttpResponse, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        status = response.status_code
        add_headers(response, self.headers_of(self.action, status < 300))
        response.headers["X-OAuth-Scopes"] = "unknown" if self.caller is None else " ".join(self.caller.scopes)
        if status == 405:
            response.headers["Allow"] = ", ".join(self.allowed_methods)
        if self.verdict is not None:
            add_headers(response, self.verdict.headers())
        return response

    @classmethod
    @cache
    def headers_of(cls, action: str, fine: bool) -> Headers:
        """The headers that all answers of an action have in common; failures are never kept in caches."""
        scope = cls._scopes.get(action)
        return prepared(
            **HEADERS,
            Cache_Control=cls.cache_control if fine else NO_STORE,
            X_Accepted_OAuth_Scopes=access.ALL if scope is None else scope.accepted,
        )
