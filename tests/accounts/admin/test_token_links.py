"""Staff make a link to a new token for a user, and never see the token."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client

from accounts.models import Event, PersonalToken, TokenLink, User
from tests.config.admin.pages import do, list_address, messages_of, page_address
from tests.factories import StaffFactory

pytestmark = pytest.mark.django_db
GOOD = {"label": "ci", "scopes": ["computes:read_only", "volumes:read_only"], "days": "30", "reason": "New laptop"}


def address_in(page) -> str:
    return re.findall(r'<code id="shown-once"[^>]*>http://[^/]+(/token/[\w-]+)</code>', page.content.decode())[0]


def test_the_link_is_only_on_the_answer_and_leads_to_a_token(admin, owner):
    page = do(admin, owner, "hand-over-token", **GOOD)
    assert page.status_code == 200
    assert "no-store" in page["Cache-Control"]
    path = address_in(page)
    key = path.rpartition("/")[2]
    for other in (page_address(owner), list_address(TokenLink), page_address(TokenLink.objects.get())):
        assert key not in admin.get(other).content.decode()
    logged = LogEntry.objects.get().change_message
    assert logged.startswith("Make a link to a token: a link to a token, ci, that works until ")
    assert logged.endswith("New laptop")
    assert key not in logged + str(admin.cookies) + str(dict(admin.session))
    assert not PersonalToken.objects.exists()

    assert "computes:read_only volumes:read_only" in admin.get(page_address(owner)).content.decode()
    assert Client().post(path).status_code == 200
    token = PersonalToken.objects.get()
    assert (token.user, token.label, token.scopes) == (owner, "ci", "computes:read_only volumes:read_only")
    assert list(Event.objects.order_by("-pk").values_list("action", "username")[:2]) == [
        ("token_create", "staff"), ("profile_update", "staff"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "field"),
    [({"label": ""}, "label"), ({"scopes": ["x"]}, "scopes"), ({"scopes": []}, "scopes"), ({"days": "0"}, "days"),
     ({"days": "99999999999"}, "days"), ({"reason": ""}, "reason")],
)  # fmt: skip
def test_errors_are_shown_at_their_field(admin, owner, wrong, field):
    page = do(admin, owner, "hand-over-token", **{**GOOD, **wrong})
    assert list(page.context["form"].errors) == [field]
    assert not TokenLink.objects.exists()


def test_everything_is_everything_and_no_days_are_for_ever(admin, owner):
    address_in(do(admin, owner, "hand-over-token", **{**GOOD, "scopes": ["*", "ips:read_only"], "days": ""}))
    made = TokenLink.objects.get()
    assert (made.scopes, made.token_expiry) == ("*", None)


def test_staff_have_no_use_for_one(admin, staff):
    page = do(admin, staff, "hand-over-token", **GOOD)
    assert "has no account" in page.content.decode()
    assert not TokenLink.objects.exists()


def test_a_link_is_taken_back(admin, owner):
    path = address_in(do(admin, owner, "hand-over-token", **GOOD))
    assert "revoked" in messages_of(do(admin, TokenLink.objects.get(), "take-back"))
    assert Client().post(path).status_code == 404
    assert Event.objects.latest("pk").message == "Support took a link to a token back, ci."


def test_token_links_need_a_separate_permission(owner):
    """Anyone who has a link can open it, so making one needs a permission of its own, which no role has."""
    user = StaffFactory(is_superuser=False)
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_user", "change_user"]))
    browser = Client()
    browser.force_login(User.objects.get(pk=user.pk))
    address = page_address(owner).replace("/change/", "/do/hand-over-token/")
    assert browser.post(address, {"confirmed": "yes", **GOOD}).status_code == 403
    user.user_permissions.add(Permission.objects.get(codename="add_tokenlink"))
    assert browser.post(address, {"confirmed": "yes", **GOOD}).status_code == 200
    assert TokenLink.objects.get().created_by == user.username
