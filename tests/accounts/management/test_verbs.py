"""Verbs of ``manage.py user`` and ``account`` for existing ones: audited, with a reason."""

import io
import json

import pytest
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.actors import Actor
from accounts.models import Event, Message, ResourceUse, SecondFactor, TrustLevel, User
from accounts.services.closing import close_account
from accounts.services.quotas import limits_for
from tests.client import APIClient
from tests.factories import StaffFactory, UserFactory, token_of

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def refusal(*arguments: str) -> str:
    with pytest.raises(CommandError) as caught:
        run(*arguments)
    return str(caught.value)


def log() -> list[str]:
    return [entry.change_message.rpartition(" - manage.py, by ")[0] for entry in LogEntry.objects.order_by("pk")]


def test_a_disabled_user_is_kept_out_until_it_is_enabled_and_the_account_reads_why(owner):
    api = APIClient(token_of(owner))
    assert run("user", "disable", "owner", "--reason", "Stolen laptop") == "owner is disabled.\n"
    assert api.get("/v4/profile").status_code == 401
    assert run("user", "enable", "owner") == "owner is active.\n"
    assert api.get("/v4/profile").status_code == 200
    events = Event.objects.order_by("pk").values_list("action", "username", "message")
    assert list(events) == [
        ("user_update", "", "The user is suspended: Stolen laptop"), ("user_update", "", "The user is active."),
    ]  # fmt: skip
    assert log() == ["Disabled. - Stolen laptop", "Enabled."]
    assert "is active already" in refusal("user", "enable", "owner")
    assert len(log()) == 2, "what was refused is no change"


def test_events_and_the_log_name_the_member_of_staff_who_did_it(owner):
    StaffFactory(username="ops-1")
    run("user", "disable", "owner", "--reason", "Stolen laptop", "--by", "ops-1")
    assert Event.objects.get().username == "ops-1"
    assert LogEntry.objects.get().user.username == "ops-1"


@pytest.mark.parametrize("by", ["nobody", "owner", "(command line)", "gone"])
def test_by_accepts_only_active_staff(owner, by):
    StaffFactory(username="gone", is_active=False)
    assert (
        refusal("user", "disable", "owner", "--reason", "x", "--by", by)
        == f"by: There is no active staff user {by!r}."
    )
    assert User.objects.get(username="owner").is_active


def test_staff_are_on_no_account_so_that_only_the_log_has_it():
    StaffFactory(username="ops-1")
    run("user", "disable", "ops-1", "--reason", "Left")
    assert not Event.objects.exists()
    assert log() == ["Disabled. - Left"]
    assert LogEntry.objects.get().object_repr == "ops-1"


def test_a_new_member_of_staff_is_in_the_log():
    run("user", "invite", "ops-1", "--staff", "--email", "ops@example.com")
    assert log() == ["A new staff user who may do everything in the admin."]
    assert LogEntry.objects.get().user.username == "(command line)"


@pytest.fixture
def roles() -> None:
    """The groups that `migrate` creates."""
    for name in ("support", "operator", "auditor"):
        Group.objects.get_or_create(name=name)


def test_a_member_of_staff_is_made_with_roles_and_may_do_no_more(roles):
    run("user", "create", "ops-1", "--email", "ops@example.com", "--role", "support", "--role", "auditor")
    user = User.objects.get(username="ops-1")
    assert (user.is_staff, user.is_superuser, user.account) == (True, False, None)
    assert set(user.groups.values_list("name", flat=True)) == {"support", "auditor"}
    assert log() == ["A new staff user with the role support, auditor."]
    assert json.loads(run("user", "show", "ops-1", "--json"))["roles"] == ["auditor", "support"]
    assert "roles          auditor, support" in run("user", "show", "ops-1")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--role", "boss"], "role: There is no role 'boss'. Use one of: auditor, operator, support."),
        (["--account", "{account}", "--role", "support"], "role: Only staff have roles: users of an account have"),
        ([], "account: Give --account ID, or for a member of staff --staff or --role ROLE."),
        (["--staff", "--account", "{account}"], "Error: argument --account: not allowed with argument --staff"),
    ],
)
def test_a_bad_role_creates_no_user(owner, roles, arguments, line):
    given = [each.format(account=owner.account_id) for each in arguments]
    assert refusal("user", "create", "ops-1", "--email", "ops@example.com", *given).startswith(line)
    assert not User.objects.filter(username="ops-1").exists()
    assert not Message.objects.exists()


def test_roles_are_changed_and_the_log_says_why(roles):
    user = StaffFactory(username="ops-1", is_superuser=False)
    output = run("user", "role", "ops-1", "--role", "operator", "--reason", "Joined the night shift")
    assert output == "ops-1 is a staff user with the role operator.\n"
    run("user", "role", "ops-1", "--role", "support")
    assert [group.name for group in user.groups.all()] == ["support"]
    run("user", "role", "ops-1", "--none")
    assert not user.groups.exists()
    run("user", "role", "ops-1", "--superuser")
    user.refresh_from_db()
    assert user.is_superuser
    assert log() == [
        "A staff user with the role operator. - Joined the night shift", "A staff user with the role support.",
        "A staff user with no role.", "A staff user who may do everything in the admin.",
    ]  # fmt: skip


def test_the_last_superuser_stays_one(roles):
    StaffFactory(username="ops-1", is_superuser=True)
    assert refusal("user", "role", "ops-1", "--role", "support").startswith(
        "username: The user is the only superuser"
    )
    StaffFactory(username="ops-2", is_superuser=True)
    run("user", "role", "ops-1", "--role", "support")
    assert not User.objects.get(username="ops-1").is_superuser
    assert "only superuser" in refusal("user", "role", "ops-2", "--none")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["owner", "--role", "support"], "username: 'owner' is not a staff user. Only staff users have roles."),
        (
            ["ops-1", "--role", "boss", "--role", "chief"],
            "role: There is no role 'boss'. Use one of: auditor, operator,",
        ),
        (["ops-1"], "Error: one of the arguments --role --superuser --none is required"),
        (["ops-1", "--role", "support", "--none"], "Error: argument --none: not allowed with argument --role"),
        (["nobody", "--none"], "username: There is no user 'nobody'."),
    ],
)
def test_a_bad_change_of_roles_is_refused_in_one_line(owner, roles, arguments, line):
    StaffFactory(username="ops-1", is_superuser=False)
    assert refusal("user", "role", *arguments).startswith(line)
    assert not LogEntry.objects.exists()


def test_the_user_of_the_command_line_signs_nobody_in(owner):
    run("user", "disable", "owner", "--reason", "x")
    for password in ("", "!", "(command line)"):
        answer = Client().post("/login", {"username": "(command line)", "password": password})
        assert answer.status_code == 200, "the form again"


def test_an_invitation_is_mailed_and_its_address_printed(account):
    printed = run("user", "invite", "ops", "--account", str(account.pk), "--email", "ops@example.com")
    assert printed.startswith(f"{settings.SITE_URL}/password/")
    assert Message.objects.get().recipient == "ops@example.com"
    assert Event.objects.get().action == "user_create"


def test_a_second_factor_is_reset_with_its_secret(owner):
    User.objects.filter(pk=owner.pk).update(two_factor_auth=True)
    SecondFactor.objects.create(user=owner, encrypted=b"x")
    run("user", "reset-second-factor", "owner", "--reason", "Called back on the known number")
    assert not User.objects.get(pk=owner.pk).two_factor_auth
    assert not SecondFactor.objects.exists()
    event = Event.objects.get()
    assert (event.action, event.message) == (
        "tfa_disabled", "Turned off by support: Called back on the known number",
    )  # fmt: skip
    assert Message.objects.get().recipient == owner.email
    assert (
        refusal("user", "reset-second-factor", "owner", "--reason", "x")
        == "second_factor: The second factor is already off."
    )
    assert len(log()) == 1


def test_a_password_link_is_mailed_and_printed(owner):
    assert run("user", "mail-password", "owner").startswith(f"{settings.SITE_URL}/password/")
    assert Message.objects.get().recipient == owner.email
    assert Event.objects.get().action == "password_reset"
    run("user", "disable", "owner", "--reason", "x")
    assert refusal("user", "mail-password", "owner") == "The user is suspended."


def test_users_are_listed_for_people_and_for_scripts(owner):
    StaffFactory(username="ops-1")
    UserFactory(username="elsewhere")
    run("user", "disable", "elsewhere", "--reason", "x")
    found = json.loads(run("user", "list", "--json"))
    assert [(each["username"], each["status"]) for each in found] == [
        ("owner", "active"), ("ops-1", "active"), ("elsewhere", "disabled"),
    ]  # fmt: skip
    assert [each["username"] for each in json.loads(run("user", "list", "--staff", "--json"))] == ["ops-1"]
    head, line = run("user", "list", "--account", str(owner.account_id)).splitlines()
    assert head.split()[:5] == ["id", "username", "email", "account", "status"]
    assert line.split()[1] == "owner"
    shown = json.loads(run("user", "show", "owner", "--json"))
    assert shown["account_name"] == "Cast"
    assert not {"password", "secret"} & shown.keys()
    assert "second_factor  no" in run("user", "show", "owner")


def test_an_empty_list_is_empty(account):
    assert run("user", "list") == ""
    assert json.loads(run("user", "list", "--json")) == []


def test_a_closed_account_is_listed_and_restored(owner, staff):
    account = owner.account
    close_account(Actor(account.pk, owner.pk, "owner"))
    assert run("account", "list", "--suspended") == ""
    assert [each["status"] for each in json.loads(run("account", "list", "--closed", "--json"))] == ["closed"]
    number = str(account.pk)
    assert run("account", "suspend", number, "--reason", "Spam") == f"Account {number} (Cast) is suspended.\n"
    assert run("account", "list", "--closed") == ""
    assert run("account", "restore", number) == f"Account {number} (Cast) is active.\n"


def test_a_suspended_account_is_kept_out_until_it_is_restored(owner):
    api, number = APIClient(token_of(owner)), str(owner.account_id)
    assert run("account", "suspend", number, "--reason", "Not paid") == f"Account {number} (Cast) is suspended.\n"
    assert api.get("/v4/profile").status_code == 401
    assert [each["id"] for each in json.loads(run("account", "list", "--suspended", "--json"))] == [
        owner.account_id
    ]
    run("account", "restore", number)
    assert api.get("/v4/profile").status_code == 200
    assert list(Event.objects.order_by("pk").values_list("message", flat=True)) == [
        "The account is suspended: Not paid", "The account is active.",
    ]  # fmt: skip
    assert log() == ["Suspended. - Not paid", "Restored."]
    assert "is active already" in refusal("account", "restore", number)


def test_accounts_are_listed_and_shown(owner, django_assert_num_queries):
    owner.account.company = "Cast\x1b[31m"
    owner.account.save()
    UserFactory()
    with django_assert_num_queries(1):
        head, first, _ = run("account", "list").splitlines()
    assert head.split() == ["id", "company", "email", "status", "opened", "users"]
    assert "Cast?[31m" in first, "a terminal obeys nobody's name"
    shown = json.loads(run("account", "show", str(owner.account_id), "--json"))
    assert (shown["users"], shown["status"], shown["quotas"]) == (["owner"], "active", {})
    assert "users        owner" in run("account", "show", str(owner.account_id))


def test_an_account_is_trusted_with_more_and_reads_why(account):
    account.trust_level = "new"
    account.save()
    number = str(account.pk)
    ResourceUse.objects.create(account=account, instances=3, memory=6144)
    lines = {line.split()[0]: line.split()[1:] for line in run("account", "quotas", number).splitlines()}
    assert lines["quota"] == ["used", "limit", "unit", "source"]
    assert lines["instances"] == ["3", "10", "-", "level", "new"]
    assert lines["memory"] == ["6144", "40960", "MB", "level", "new"]
    assert lines["extra_ipv4"] == ["0", "0", "-", "the", "account's", "own"]
    assert lines["firewalls"] == ["-", "200", "-", "setting", "QUOTA_FIREWALLS"]
    output = run("account", "trust", number, "trusted", "--reason", "Paid for a year")
    assert output == f"The trust level of account {number} (Cast) is trusted.\n"
    for quota, limit in (("vcpus", "500"), ("gpus", "none"), ("firewalls", "7"), ("extra_ipv4", "4")):
        run("account", "raise", number, quota, limit, "--reason", "Ticket 7")
    shown = {row["quota"]: row for row in json.loads(run("account", "quotas", number, "--json"))}
    found = [(shown[name]["limit"], shown[name]["source"]) for name in ("instances", "gpus", "extra_ipv4")]
    assert found == [(100, "level trusted"), (None, "the account's own"), (4, "the account's own")]
    limits = limits_for(account.pk)
    assert (limits["instances"], limits["vcpus"], limits["gpus"]) == (100, 500, None)
    assert "gpus no limit" in run("account", "show", number)
    run("account", "raise", number, "vcpus", "default", "--reason", "A year is over")
    assert limits_for(account.pk)["vcpus"] == 400
    account.refresh_from_db()
    assert (account.quotas, account.extra_ipv4) == ({"gpus": None, "firewalls": 7}, 4)
    assert list(Event.objects.order_by("pk").values_list("action", "message")) == [
        ("account_update", "The trust level is trusted: Paid for a year"),
        ("account_update", "The quota of vCPUs is 500: Ticket 7"),
        ("account_update", "The quota of GPUs is no limit: Ticket 7"),
        ("account_update", "The quota of firewalls is 7: Ticket 7"),
        ("account_update", "The quota of extra public IPv4 addresses is 4: Ticket 7"),
        ("account_update", "The quota of vCPUs is the default: A year is over"),
    ]
    assert log()[:2] == ["Trust level new -> trusted. - Paid for a year", "Quota vcpus: 500. - Ticket 7"]


def test_a_level_of_the_catalogue_file_can_be_given(account):
    TrustLevel.objects.create(id="gold", label="Gold", limits={"instances": 40})
    run("account", "trust", str(account.pk), "gold", "--reason", "x")
    assert limits_for(account.pk) == {"instances": 40}
    assert json.loads(run("account", "show", str(account.pk), "--json"))["trust_level"] == "gold"


def test_new_accounts_begin_with_the_limits_of_new_customers():
    number = run("account", "create", "--company", "Example", "--email", "you@example.com").strip()
    assert limits_for(int(number))["instances"] == 10


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["trust", "{}", "golden", "--reason", "x"], "level: There is no trust level 'golden'. Use one of: new,"),
        (["trust", "{}", "unlimited", "--reason", "x"], "level: The account's trust level is unlimited already."),
        (["trust", "{}", "new"], "Error: the following arguments are required: --reason"),
        (["raise", "{}", "cores", "1", "--reason", "x"], "quota: There is no quota 'cores'. Use one of: inst"),
        (
            ["raise", "{}", "vcpus", "many", "--reason", "x"],
            "limit: Must be a number, none or default, not 'many'.",
        ),
        (["raise", "{}", "vcpus", "2147483648", "--reason", "x"], "limit: Must be from 0 to 2147483647."),
        (["raise", "{}", "firewalls", "none", "--reason", "x"], "limit: This quota needs a number."),
        (["raise", "{}", "extra_ipv4", "none", "--reason", "x"], "limit: This quota needs a number."),
    ],
)
def test_a_bad_change_of_quotas_is_refused_in_one_line(account, arguments, line):
    assert refusal("account", *(each.format(account.pk) for each in arguments)).startswith(line)
    account.refresh_from_db()
    assert (account.trust_level, account.quotas) == ("unlimited", {})
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["user", "disable", "nobody", "--reason", "x"], "username: There is no user 'nobody'."),
        (["user", "show", "nobody"], "username: There is no user 'nobody'."),
        (["user", "disable", "owner"], "Error: the following arguments are required: --reason"),
        (["user", "disable", "owner", "--reason", "x" * 201], "reason: Must have 200 characters at most."),
        (["account", "suspend", "0", "--reason", "x"], "account: There is no account 0."),
        (["account", "show", "Cast"], "account: 'Cast' is not the id of an account."),
    ],
)
def test_bad_arguments_are_refused_in_one_line(owner, arguments, line):
    assert refusal(*arguments) == line
    assert User.objects.get(username="owner").is_active
