"""The base classes of all pages of users, and their actor."""

from typing import Any

from django.http import HttpRequest
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.generic import View

from accounts.actors import Actor
from accounts.models import User
from config.pages.policies import POLICY, POLICY_WITH_SCRIPTS

__all__ = ["POLICY", "CopyPage", "Page", "actor_of", "signed_in"]


class Page(View):
    """A page with one user's data: kept by no cache, shown in no frame, without scripts."""

    policy = POLICY

    @method_decorator(never_cache)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        response = super().dispatch(request, *args, **kwargs)
        response["Content-Security-Policy"] = self.policy
        return response


class CopyPage(Page):
    """A page with a copy button, for which a script of ours may run. Without scripts there is no button."""

    policy = POLICY_WITH_SCRIPTS


def signed_in(request: HttpRequest) -> User:
    """The user of a page that requires being signed in."""
    user = request.user
    if not isinstance(user, User):
        raise TypeError("nobody is signed in")
    return user


def actor_of(user: User) -> Actor:
    """The user as an actor for services, with all scopes. Staff are on no account: their actor has account 0, for
    which services write no events."""
    return Actor(user.account_id or 0, user.pk, user.username, user.restricted)
