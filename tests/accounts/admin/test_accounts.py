"""Accounts and users in the admin: all parts of one on its page, and no sign-in for those who must not."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from accounts.models import Account, Event, GlobalGrants, Grant, PersonalToken, SSHKey, User
from accounts.services.closing import close_account
from tests.accounts.signing_in import words
from tests.config.admin.pages import do, list_address, page_address
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def clerk(world) -> Client:
    """A browser of staff who may view and change users, and are no superusers."""
    user = User.objects.create_user("clerk", "clerk@example.com", "a-password", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__endswith="_user"))
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("word", ["World", "wor", "world@example.com", "worldowner"])
def test_an_account_is_found(word, admin, world):
    Account.objects.create(email="else@example.com")
    for asked in (word, str(world.account.pk)):
        assert list(admin.get(list_address(Account), {"q": asked}).context["cl"].result_list) == [world.account]


def test_an_accounts_page_shows_all_that_is_its_own(admin, world, owner, running):
    PersonalToken.objects.create(
        user=owner, label="deploy", scopes="events:read_only", digest="d", prefix="abcd" * 4
    )
    Grant.objects.create(user=owner, entity_type="compute", entity_id=running.pk, permissions="read_only")
    text = admin.get(page_address(world.account)).content.decode()
    for part in (
        "worldowner",
        "abcdabcdabcdabcd…",
        "events:read_only",
        f"compute {running.pk}",
        "An instance is created.",
    ):
        assert part in text
    assert page_address(running) in text


def save(admin, account: Account, **fields):
    """Send the account's form unchanged except for these fields."""
    form = admin.get(page_address(account)).context["adminform"].form
    return admin.post(page_address(account), {**form.initial, **fields})


def test_the_customer_is_changed_by_the_service(admin, world):
    changed = {"first_name": "Kari", "state": "Vestland", "country": "no", "tax_id": "9" * 25, "extra_ipv4": 2}
    assert save(admin, world.account, **changed).status_code == 302
    account = Account.objects.get(pk=world.account.pk)
    assert {name: getattr(account, name) for name in changed} == {**changed, "country": "NO"}
    event = Event.objects.get(action="account_update")
    assert (event.username, event.account) == ("staff", account)
    text = admin.get(page_address(account)).content.decode()
    assert 'value="Vestland"' in text
    assert '<span class="status good">active</span>' in text


def test_staff_enter_payments(admin, client_for, world):
    api = client_for(UserFactory(account=world.account))
    assert api.get("/v4/profile").json()["referrals"]["code"] == ""
    assert save(admin, world.account, total_payments="25.00").status_code == 302
    assert api.get("/v4/profile").json()["referrals"]["code"] != ""
    assert api.get("/v4/account").json()["balance"] == 0
    assert Event.objects.get().username == "staff"


def test_settings_of_the_account_have_an_event_of_settings(admin, world):
    save(admin, world.account, backups_enabled="on")
    world.account.refresh_from_db()
    assert world.account.backups_enabled
    assert Event.objects.values_list("action", flat=True).get() == "account_settings_update"


def test_quotas_of_an_account_are_its_own(admin, world):
    assert save(admin, world.account, quota_domains="5000", quota_tags="0").status_code == 302
    world.account.refresh_from_db()
    assert world.account.quotas == {"domains": 5000, "tags": 0}
    assert save(admin, world.account, quota_domains="").status_code == 302
    world.account.refresh_from_db()
    assert world.account.quotas == {"tags": 0}
    assert [event.action for event in Event.objects.all()] == ["account_update"] * 2


def test_saving_an_account_unchanged_tells_nothing(admin, world):
    assert save(admin, world.account).status_code == 302
    assert not Event.objects.exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("country", "XX"),
        ("country", "N"),
        ("tax_id", "9" * 26),
        ("email", "nobody"),
        ("city", "x" * 25),
        ("total_payments", "-1"),
        ("total_payments", "0.001"),
    ],
)
def test_customer_errors_are_shown_at_their_field(field, value, admin, world):
    errors = save(admin, world.account, **{field: value}).context["adminform"].form.errors
    assert list(errors) == [field]
    assert not Event.objects.exists()


def test_an_account_is_added_with_its_country(admin):
    data = {"email": "new@example.com", "country": "se", "extra_ipv4": "0", "total_payments": "0"}
    assert admin.post(reverse("admin:accounts_account_add"), {**data, "country": "XX"}).context["errors"]
    admin.post(reverse("admin:accounts_account_add"), data)
    assert Account.objects.get(email="new@example.com").country == "SE"


def test_a_users_page_shows_keys_and_grants(admin, owner):
    User.objects.filter(pk=owner.pk).update(restricted=True)
    SSHKey.objects.create(user=owner, label="laptop", ssh_key="ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFoo me@laptop")
    GlobalGrants.objects.create(user=owner, add_computes=True, account_access="read_only")
    text = admin.get(page_address(owner)).content.decode()
    for part in ("me@laptop", "add_computes", "account_access"):
        assert part in text
    assert "add_domains" not in text


def test_suspending_an_account_is_confirmed_reported_and_logged(admin, world):
    address = page_address(world.account).replace("/change/", "/do/suspend/")
    assert "answered 401" in admin.post(address).content.decode()
    do(admin, world.account, "suspend", reason="Spam.")
    world.account.refresh_from_db()
    assert not world.account.is_active
    event = Event.objects.get(action="account_update", username="staff", account=world.account)
    assert event.message == "The account is suspended: Spam."
    assert LogEntry.objects.get().change_message == "Suspend: suspended. Spam."
    assert "suspended already" in do(admin, world.account, "suspend", reason="Again.").content.decode()
    do(admin, world.account, "activate", reason="It was a mistake.")
    world.account.refresh_from_db()
    assert world.account.is_active


def test_staff_find_closed_accounts_and_restore_them(admin, world):
    close_account(world.actor, "We move.")
    shown = {
        name: words(admin.get(list_address(Account), {"status": name}))
        for name in ("active", "suspended", "closed")
    }
    assert [name for name, text in shown.items() if "world@example.com" in text] == ["closed"]
    assert "by worldowner" in shown["closed"]
    page = words(admin.get(page_address(world.account)))
    assert "by worldowner" in page
    assert "We move." in page
    do(admin, world.account, "activate", reason="They came back.")
    world.account.refresh_from_db()
    assert world.account.standing == "active"
    assert "We move." not in words(admin.get(page_address(world.account))).partition("Recent events")[0]
    assert LogEntry.objects.get(object_id=world.account.pk).change_message == "Restore: active. They came back."


def test_staff_suspend_an_account_that_its_user_closed(admin, world):
    close_account(world.actor, "Caught.")
    do(admin, world.account, "suspend", reason="Spam.")
    world.account.refresh_from_db()
    assert world.account.standing == "suspended"
    offered = admin.get(page_address(world.account)).content.decode()
    assert "/do/suspend/" not in offered
    assert "/do/activate/" in offered


def test_suspending_a_user_has_an_event(admin, owner, world):
    do(admin, owner, "suspend", reason="Left.")
    owner.refresh_from_db()
    assert not owner.is_active
    assert Event.objects.filter(action="user_update", entity_id=owner.pk, account=world.account).exists()


def test_accounts_and_users_are_never_deleted(admin, world, owner):
    for obj in (world.account, owner):
        assert admin.post(page_address(obj).replace("/change/", "/delete/"), {"post": "yes"}).status_code == 403


def test_a_user_is_added_with_a_hashed_password(admin, world):
    data = {
        "username": "fresh-face", "email": "fresh@example.com", "account": world.account.pk,
        "usable_password": "true", "password1": "a-fresh-Pass-7", "password2": "a-fresh-Pass-7",
    }  # fmt: skip
    admin.post(reverse("admin:accounts_user_add"), data)
    user = User.objects.get(username="fresh-face")
    assert user.check_password("a-fresh-Pass-7")
    assert user.account == world.account
    assert Event.objects.filter(action="user_create", entity_id=user.pk).exists()


def test_a_restricted_user_without_an_account_is_refused_kindly(admin):
    data = {
        "username": "nobody-at-all", "email": "no@example.com", "restricted": "on",
        "usable_password": "true", "password1": "a-fresh-Pass-7", "password2": "a-fresh-Pass-7",
    }  # fmt: skip
    assert admin.post(reverse("admin:accounts_user_add"), data).context["errors"]


def test_staff_cannot_raise_themselves_or_touch_their_betters(clerk, owner, staff):
    raised = {"is_staff": "on", "is_superuser": "on"}
    clerk.post(page_address(owner), {"username": owner.username, "email": "x@example.com", **raised})
    owner.refresh_from_db()
    assert owner.email == "x@example.com"
    assert not owner.is_staff
    assert not owner.is_superuser

    assert clerk.post(page_address(staff), {"email": "mine@example.com"}).status_code == 403
    assert (
        clerk.post(page_address(staff).replace("/change/", "/do/suspend/"), {"confirmed": "1"}).status_code == 403
    )
    password = reverse("admin:auth_user_password_change", args=[staff.pk])
    assert clerk.post(password, {"password1": "taken-Over-77", "password2": "taken-Over-77"}).status_code == 403
    clerk.post(list_address(User), {"action": "suspend", "_selected_action": [staff.pk], "confirmed": "yes"})
    staff.refresh_from_db()
    assert staff.is_active
