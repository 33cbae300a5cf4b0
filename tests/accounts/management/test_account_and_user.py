"""``manage.py account create``, ``user create`` and ``createsuperuser``: an operator's first commands."""

import io
import re

import pytest
from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.models import Account, Event, GlobalGrants, Message, User
from config.encryption import decrypt_json
from tests.client import APIClient

pytestmark = pytest.mark.django_db
STRONG = "correct-horse-7-battery"


def run(*arguments: str, **options) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue()


def refusal(*arguments: str, **options) -> list[str]:
    with pytest.raises(CommandError) as caught:
        run(*arguments, **options)
    return str(caught.value).splitlines()


def test_an_account_is_opened_and_its_id_printed_alone_on_a_line():
    printed = run("account", "create", "--company", "Example", "--email", "ops@example.com", "--country", "no")
    account = Account.objects.get()
    assert printed == f"{account.pk}\n"
    assert (account.company, account.email, account.country) == ("Example", "ops@example.com", "NO")


def test_all_errors_of_an_account_are_reported_by_field():
    lines = refusal("account", "create", "--company", "x" * 129, "--email", "nobody", "--country", "xx")
    assert [line.partition(":")[0] for line in lines] == ["country", "company", "email"]
    assert not Account.objects.exists()


def test_a_user_is_invited_and_the_address_printed_too(account):
    printed = run("user", "create", "ops", "--account", str(account.pk), "--email", "ops@example.com").strip()
    user = User.objects.get(username="ops")
    assert (user.account, user.restricted, user.is_staff) == (account, False, False)
    mail = decrypt_json(Message.objects.get(recipient="ops@example.com").encrypted)
    assert printed.startswith(f"{settings.SITE_URL}/password/")
    assert printed.rsplit("/", 1)[0] in mail["text"]
    assert "a user of the account Cast" in mail["text"]
    assert default_token_generator.check_token(user, printed.rsplit("/", 1)[1])
    event = Event.objects.get()
    assert (event.account, event.action, event.username, event.entity_label) == (account, "user_create", "", "ops")


def test_a_token_of_such_a_user_works(account):
    run("user", "create", "ops", "--account", str(account.pk), "--email", "ops@example.com")
    token = run("create_token", "ops").strip()
    assert APIClient(token).get("/v4/account").json()["company"] == "Cast"


def test_a_password_may_be_piped_in(account, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{STRONG}\n"))
    run("user", "create", "ops", "--account", str(account.pk), "--email", "ops@example.com", "--password-stdin")
    assert not Message.objects.exists()
    answer = Client().post("/login", {"username": "ops", "password": STRONG})
    assert (answer.status_code, answer["Location"]) == (302, "/home")


def test_a_restricted_user_starts_with_no_grants(account):
    run("user", "create", "ops", "--account", str(account.pk), "--email", "ops@example.com", "--restricted")
    assert GlobalGrants.objects.get().user.restricted


def test_staff_belong_to_no_account_and_may_do_everything_in_the_admin():
    run("user", "create", "admin-1", "--staff", "--email", "ops@example.com")
    user = User.objects.get(username="admin-1")
    assert (user.account, user.is_staff, user.is_superuser) == (None, True, True)
    assert "a member of the platform's staff" in decrypt_json(Message.objects.get().encrypted)["text"]
    assert not Event.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["op", "--staff", "--email", "a@example.com"], "username: A username has 3 to 32 letters and digits"),
        (["x" * 33, "--staff", "--email", "a@example.com"], "username: A username has 3 to 32 letters"),
        (["OWNER", "--staff", "--email", "a@example.com"], "username: Username is taken"),
        (["ops", "--staff", "--email", "nobody"], "email: Enter a valid email address."),
        (["ops", "--staff", "--email", "a@example.com", "--restricted"], "restricted: Only users of an account"),
        (["ops", "--account", "0", "--email", "a@example.com"], "account: There is no account 0."),
        (
            ["ops", "--account", "Cast", "--email", "a@example.com"],
            "account: 'Cast' is not the id of an",
        ),
        (["ops", "--account", "9" * 30, "--email", "a@example.com"], "account: '999"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_user_create_names_the_wrong_field_and_creates_nothing(owner, arguments, line):
    lines = refusal("user", "create", *arguments)
    assert len(lines) == 1
    assert lines[0].startswith(line)
    assert User.objects.count() == 1
    assert not Message.objects.exists()


def test_a_weak_password_is_refused_by_name(account, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))
    given = ["ops", "--account", str(account.pk), "--email", "ops@example.com", "--password-stdin"]
    [line] = refusal("user", "create", *given)
    assert re.match(r"password: .*at least 11 characters", line)
    assert not User.objects.exists()


def test_createsuperuser_names_every_field_that_is_wrong(owner):
    given = {"username": "op", "email": "nobody", "interactive": False}
    assert [line.partition(":")[0] for line in refusal("createsuperuser", **given)] == ["username", "email"]
    [line] = refusal("createsuperuser", username="OWNER", email="a@example.com", interactive=False)
    assert line == "username: Username is taken"


def test_createsuperuser_still_makes_one():
    run("createsuperuser", username="admin-1", email="a@example.com", interactive=False)
    assert User.objects.get().is_superuser


def test_a_bad_username_at_the_prompt_is_refused(monkeypatch):
    from accounts.management.commands.createsuperuser import Command

    monkeypatch.setattr("builtins.input", lambda message: "op")
    errors = io.StringIO()
    assert Command(stderr=errors).get_input_data(User._meta.get_field("username"), "Username: ") is None
    assert errors.getvalue().startswith("Error: username: A username has 3 to 32")
