"""The base classes of all pages of users, and their actor."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, ClassVar

from django.contrib.auth.mixins import LoginRequiredMixin
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.generic import View
from django.views.generic.base import ContextMixin
from django_htmx.http import HttpResponseClientRedirect

from accounts.actors import Actor
from accounts.models import GlobalGrants, User
from accounts.services import attempts
from config.pages.grants import granted
from config.pages.policies import POLICY_OF_PAGES
from config.pages.views import Limited, is_htmx


class Page(View):
    """A page with one user's data: no cache stores it, and no other site shows it in a frame.

    `operations` names the API operations that the page's forms use, by their ids. A test compares them with the
    API's document.
    """

    policy = POLICY_OF_PAGES
    operations: ClassVar[frozenset[str]] = frozenset()

    @method_decorator(never_cache)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        response = super().dispatch(request, *args, **kwargs)
        response["Content-Security-Policy"] = self.policy
        return response


class SignInRequired(LoginRequiredMixin, View):
    """A mixin for a page that only a signed-in user may open."""

    def handle_no_permission(self) -> HttpResponse:  # type: ignore[override] # a redirect for htmx is another class
        """Redirect anonymous users to the sign-in page, which leads back to a page that a browser can show.

        htmx would put the sign-in page into a part of the page, so it opens the sign-in page instead.
        """
        if is_htmx(self.request):
            shown = self.request.htmx.current_url_abs_path  # type: ignore[attr-defined] # see `is_htmx`
            return HttpResponseClientRedirect(redirect_to_login(shown or reverse("home")).url)
        # a verb without a page of its own accepts no GET
        return redirect_to_login(self.request.get_full_path() if hasattr(self, "get") else reverse("home"))


class AccountPage(SignInRequired, Page, Limited):
    """A page of the console, on which a signed-in user sees and changes objects of the account.

    `grant` is the account-level grant of its operations, such as ``add_computes`` or ``account:read_only``. A test
    compares it with the API's. It is empty if the operations need none, as for a user's own keys. Users without
    the grant are answered 403. Staff, who are on no account, are answered 404.
    """

    grant: ClassVar[str] = ""
    throttle_scope: ClassVar[str] = ""
    """The name of the limit that the API has for the same operation. Pages and the API share the count."""
    expensive: ClassVar[bool] = False
    """Whether the API measures the time of the same operation."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.user.is_authenticated:
            if signed_in(request).account_id is None:
                raise Http404
            if self.grant and not granted(self.actor, self.grant):
                raise PermissionDenied
        return super().dispatch(request, *args, **kwargs)

    def limited(self) -> AbstractContextManager[None]:
        """Count the page's operation under the limits that the API has for it."""
        if self.throttle_scope:
            attempts.check_with_api(self.throttle_scope, self.actor.person, self.actor.account_id)
        return self.measured() if self.expensive else nullcontext()

    def measured(self, *, polls: bool = False) -> AbstractContextManager[None]:
        return attempts.measured_with_api(self.actor.account_id, polls=polls)

    @cached_property
    def actor(self) -> Actor:
        """The user as an actor for services, with the account-level grants of a restricted user."""
        return with_grants(signed_in(self.request))


class ProfilePage(ContextMixin):
    """A mixin for a page below a topic of the profile, and the texts of ``components/form_page.html``.

    `topic` is the name of the topic's URL. The page leads back to the topic.
    """

    topic: ClassVar[str] = "profile"
    texts: ClassVar[Mapping[str, str]] = {}

    def get_success_url(self) -> str:
        return reverse(self.topic)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**below_profile(self.topic), **self.texts, **kwargs)


TOPICS = {
    "profile": "Profile",
    "profile-sign-in": "Sign-in",
    "profile-tokens": "Tokens",
    "profile-ssh-keys": "SSH keys",
    "profile-apps": "Apps with access",
    "profile-browsers": "Browsers and logins",
}
"""The labels of the profile's topics, by the names of their URLs."""
TOPICS_OF_CUSTOMERS = frozenset({"profile-tokens", "profile-ssh-keys"})
"""The topics that staff, who are on no account, do not have."""


def below_profile(topic: str = "profile") -> dict[str, Any]:
    """Return the context of pages below a topic of the profile: their breadcrumbs, and the topic's address."""
    names = dict.fromkeys(("profile", topic))
    return {"trail": [(TOPICS[name], reverse(name)) for name in names], "back": reverse(topic)}


def signed_in(request: HttpRequest) -> User:
    """Return the user of a page that requires a signed-in user."""
    user = request.user
    if not isinstance(user, User):
        raise TypeError("nobody is signed in")
    return user


def actor_of(user: User) -> Actor:
    """Return the user as an actor for services, with all scopes.

    Staff are on no account: their actor has account 0, for which services write no events.
    """
    return Actor(user.account_id or 0, user.pk, user.username, user.restricted)


def with_grants(user: User) -> Actor:
    """Return the user as an actor for services, with all scopes and the account-level grants.

    One query for each user object that is restricted: Django keeps the grants at the user.
    """
    if not user.restricted:
        return actor_of(user)
    grants = getattr(user, "global_grants", None) or GlobalGrants(user=user)
    return Actor(
        user.account_id or 0,
        user.pk,
        user.username,
        restricted=True,
        account_access=grants.account_access,
        grants=frozenset(name for name in GlobalGrants.names() if getattr(grants, name)),
    )
