"""Staff see watched services and their problems, request checks, and disable and enable services."""

import re
import subprocess
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import Event
from accounts.services import tickets
from compute.models import Instance
from config.display.charts import TimeSeriesChart
from managed.admin import keys
from managed.models import ComputeSettings, Contact, Credential, Decryption, Issue, KeyPair, Measurement, Service
from tests.config.admin.pages import do, list_address, messages_of, page_address
from tests.factories import (
    AccountFactory,
    ContactFactory,
    CredentialFactory,
    InstanceFactory,
    IssueFactory,
    ServiceFactory,
)
from tests.managed.one_of_each import Watched, measure, one_of_each

pytestmark = pytest.mark.django_db

MODELS = [ComputeSettings, Contact, Credential, Decryption, Issue, KeyPair, Service]


@pytest.fixture
def watched(world, running) -> Watched:
    return one_of_each(world.account, running)


def text_of(admin, address: str, **query) -> str:
    """Return the text of a page, without its tags."""
    response = admin.get(address, query)
    assert response.status_code == 200, address
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def change(service: Service, **columns) -> None:
    Service.objects.filter(pk=service.pk).update(**columns)


# --- What is shown ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_every_list_and_page_opens(model, admin, watched):
    assert text_of(admin, list_address(model))
    assert text_of(admin, page_address(model._default_manager.get()))


@pytest.mark.parametrize("model", MODELS)
def test_nothing_can_be_written_but_by_verbs(model, admin, watched):
    obj = model._default_manager.get()
    assert admin.post(page_address(obj), {"label": "mine"}).status_code == 403
    assert admin.post(page_address(obj).replace("/change/", "/delete/"), {"post": "yes"}).status_code == 403


def test_the_list_shows_errors_and_failing_services_first(admin, watched):
    fine = ServiceFactory(account=watched.account, label="all fine", status="ok")
    text = text_of(admin, list_address(Service))
    assert "it answered 503" in text
    assert watched.service.address in text
    assert text.index("web shop") < text.index(fine.label)


@pytest.mark.parametrize("term", ["web", "shop.example.com", "World", "world@example.com"])
def test_a_service_is_found_by_names_that_customers_use(term, admin, watched):
    ServiceFactory(label="another", address="tcp://other.example.com:25", service_type="tcp")
    text = text_of(admin, list_address(Service), q=term)
    assert "1 service" in text
    assert "web shop" in text


def test_the_page_of_a_failing_service_shows_issue_and_ticket(admin, watched):
    Issue.objects.update(created=now() - timedelta(minutes=34))
    text = text_of(admin, page_address(watched.service))
    assert "The service is down: it answered 503." in text
    assert f"issue {watched.issue.pk} , opened 34 min ago" in text
    assert watched.issue.ticket.summary in text
    assert "Restart the queue first." in text
    assert "all is well" in text
    assert "+47 22 33 44 55" in text
    assert "Shop" in text


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"status": "ok"}, "Nothing: the service is up."),
        ({"status": "pending"}, "Nothing: the service waits for its first check."),
        ({"status": "disabled"}, "Nothing: the service is disabled."),
        (
            {"status": "ok", "failures": 1, "error": "it answered 500"},
            "it answered 500. The service is down after 1 more failure",
        ),
    ],
)
def test_the_page_says_what_staff_should_do(columns, expected, admin, watched):
    change(watched.service, **{"issue": None, "failures": 0, "error": "", **columns})
    assert expected in text_of(admin, page_address(watched.service))


def test_a_ticket_that_was_closed_too_early_is_reported(admin, watched):
    warning = "Its ticket is closed, but the service is still down"
    assert warning not in text_of(admin, page_address(watched.service))
    tickets.close(Actor.platform(watched.account.pk), watched.issue.ticket)
    assert warning in text_of(admin, page_address(watched.service))


def test_a_service_of_a_suspended_account_is_not_watched(admin, watched):
    change(watched.service, next_check_at=now() - timedelta(hours=1))
    watched.account.is_active = False
    watched.account.save()
    text = text_of(admin, page_address(watched.service))
    assert "The service is not watched: its account is suspended." in text
    assert "Check that a worker runs." not in text


def test_contacts_of_no_group_are_those_of_a_service_without_one(admin, watched):
    ContactFactory(account=watched.account, name="Ola", group=None)
    change(watched.service, consultation_group="")
    text = text_of(admin, page_address(watched.service))
    assert "Ola" in text
    assert "Kari" not in text


def test_a_group_without_contacts_says_where_mails_go(admin, watched):
    Contact.objects.all().delete()
    assert "the address of the account, world@example.com" in text_of(admin, page_address(watched.service)).replace(
        "&#x27;", "'"
    )


def test_the_compute_that_a_service_runs_on_is_named_with_a_way_in(admin, watched, running):
    change(watched.service, address=f"https://{running.ipv4[0]}:8443/")
    assert f"ssh -i KEYFILE -p 2222 deploy@{running.ipv4[0]}" in text_of(admin, page_address(watched.service))


@pytest.mark.parametrize(
    "user", ["a;echo b;", "$(echo b)", "'; echo '", "`echo b`", "two words", "-oProxyCommand=reboot"]
)
def test_a_user_name_is_one_argument_of_the_ssh_command(user, watched, running):
    """Staff copy the command into a shell."""
    ComputeSettings.objects.update(user=user)
    command = keys.ssh(Instance.objects.select_related("managed_settings").get(pk=running.pk))
    shell = ["/bin/sh", "-c", f"ssh() {{ printf '%s\\n' \"$@\"; }}; {command}"]
    given = subprocess.run(shell, capture_output=True, text=True, check=True).stdout.splitlines()
    options = ["-i", "KEYFILE", "-p", "2222", *(["--"] if user.startswith("-") else [])]
    assert given == [*options, f"{user}@{running.ipv4[0]}"]


def test_no_way_in_is_shown_where_the_account_wants_none(admin, watched, running):
    ComputeSettings.objects.update(access=False)
    text = text_of(admin, page_address(watched.key))
    assert "does not want staff to log in" in text
    assert "ssh -i" not in text


def test_an_issue_shows_its_services_the_deleted_ones_by_number(admin, watched):
    Issue.objects.update(services=[watched.service.pk, 987654])
    for address in (list_address(Issue), page_address(watched.issue)):
        text = text_of(admin, address)
        assert "web shop" in text
        assert watched.issue.ticket.summary in text
        assert "deleted since" in text
    assert "service 987654" in text_of(admin, page_address(watched.issue))


def test_open_issues_come_first(admin, watched):
    IssueFactory(account=watched.account, closed=now())
    rows = admin.get(list_address(Issue)).context["cl"].result_list
    assert [row.closed is None for row in rows] == [True, False]
    only = admin.get(list_address(Issue), {"now": "closed"}).context["cl"].result_list
    assert [row.closed is None for row in only] == [False]


def test_the_page_of_an_account_leads_to_all_of_it(admin, watched):
    page = admin.get(page_address(watched.account)).content.decode()
    for obj in (watched.service, watched.contact, watched.issue, watched.key):
        assert page_address(obj) in page
    for model in (Credential, Decryption, Service, Contact, Issue):
        assert f"{list_address(model)}?account__id__exact={watched.account.pk}" in page
    assert f"{list_address(ComputeSettings)}?instance__account__id__exact={watched.account.pk}" in page


def test_links_of_an_account_show_its_own_alone(admin, watched):
    ServiceFactory(label="of another")
    text = text_of(admin, list_address(Service), account__id__exact=watched.account.pk)
    assert "web shop" in text
    assert "of another" not in text
    other = {"instance__account__id__exact": AccountFactory().pk}
    assert "0 compute settings" in text_of(admin, list_address(ComputeSettings), **other)


def test_an_account_without_managed_says_so(admin, watched):
    text = text_of(admin, page_address(AccountFactory()))
    assert "Managed monitoring is off for this account." in text


# --- Verbs --------------------------------------------------------------------------------------------------------


def newest_message(account) -> str:
    """Return the message of the account's newest event, and its user."""
    event = Event.objects.filter(account=account).latest("pk")
    return f"{event.entity_type} {event.username}: {event.message}"


def test_check_now_makes_a_check_due_and_has_an_event(admin, watched):
    change(watched.service, next_check_at=now() + timedelta(minutes=9))
    response = do(admin, watched.service, "check-now")
    watched.service.refresh_from_db()
    assert watched.service.next_check_at <= now()
    assert "the check is due now" in messages_of(response)
    assert newest_message(watched.account) == "managed_service staff: A check of web shop was requested."
    assert "the check is due now" in LogEntry.objects.get().change_message


def test_check_now_leaves_a_late_service_at_the_head_of_the_queue(admin, watched):
    long_ago = now() - timedelta(hours=1)
    change(watched.service, next_check_at=long_ago)
    do(admin, watched.service, "check-now")
    watched.service.refresh_from_db()
    assert watched.service.next_check_at == long_ago


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"status": "disabled", "issue": None}, "Enable it"),
        ({"lease_until": now() + timedelta(days=3650)}, "check of the service is running"),
    ],
)
def test_check_now_is_refused_where_no_check_would_come(columns, reason, admin, watched):
    later = now() + timedelta(hours=1)
    change(watched.service, next_check_at=later, **columns)
    before = Event.objects.count()
    assert reason in messages_of(do(admin, watched.service, "check-now"))
    watched.service.refresh_from_db()
    assert watched.service.next_check_at == later
    assert Event.objects.count() == before


def test_check_now_is_refused_while_managed_is_off(admin, watched):
    watched.account.managed = False
    watched.account.save()
    assert "managed is off" in messages_of(do(admin, watched.service, "check-now"))


def test_disable_asks_first_and_enable_brings_it_back(admin, watched):
    asked = admin.post(page_address(watched.service).replace("/change/", "/do/disable/"))
    assert "nobody is notified about it" in asked.content.decode()
    watched.service.refresh_from_db()
    assert watched.service.status == "problem"

    do(admin, watched.service, "disable")
    watched.service.refresh_from_db()
    assert watched.service.status == "disabled"
    assert newest_message(watched.account) == "managed_service staff: The service web shop was disabled."
    watched.issue.refresh_from_db()
    assert watched.issue.closed is not None

    do(admin, watched.service, "enable")
    watched.service.refresh_from_db()
    assert watched.service.status == "pending"
    assert newest_message(watched.account) == "managed_service staff: The service web shop was enabled."


def test_the_account_sees_events_of_staff(admin, watched, client_for):
    do(admin, watched.service, "check-now")
    customer = client_for(watched.account.users.get())
    event = customer.get("/v4/account/events").json()["data"][0]
    assert event["message"] == "A check of web shop was requested."
    assert event["entity"]["id"] == watched.service.pk


@pytest.mark.parametrize("verb", ["check-now", "disable", "enable"])
def test_an_onlooker_may_not(verb, onlooker, watched):
    assert do(onlooker, watched.service, verb).status_code == 403
    watched.service.refresh_from_db()
    assert watched.service.status == "problem"


# --- What needs attention -----------------------------------------------------------------------------------------


def test_services_that_are_down_are_reported(admin, watched):
    assert "Managed services that are down: 1" in text_of(admin, "/admin/")
    assert "web shop" in text_of(admin, list_address(Service), now="problem")
    change(watched.service, status="ok", issue=None)
    assert "services that are down" not in text_of(admin, "/admin/")


def test_late_checks_are_reported(admin, watched, settings):
    patience = timedelta(seconds=3 * settings.PROBE_EVERY)
    change(watched.service, next_check_at=now() + timedelta(minutes=2) - patience)
    assert "Check that a worker runs." not in text_of(admin, "/admin/")
    change(watched.service, next_check_at=now() - timedelta(minutes=2) - patience)
    text = text_of(admin, "/admin/")
    assert "1 managed service waits for a check for more than 3 intervals. Check that a worker runs." in text
    assert "web shop" in text_of(admin, list_address(Service), now="late")
    assert "Check that a worker runs." in text_of(admin, page_address(watched.service))


@pytest.mark.parametrize(
    "columns", [{"status": "disabled", "issue": None}, {"lease_until": now() + timedelta(days=3650)}]
)
def test_disabled_or_running_checks_are_not_late(columns, admin, watched):
    change(watched.service, next_check_at=now() - timedelta(hours=1), **columns)
    assert "Check that a worker runs." not in text_of(admin, "/admin/")


# --- Response times -----------------------------------------------------------------------------------------------


def test_uptime_is_cut_off_never_rounded_up(admin, watched):
    measure(watched.service, now() - timedelta(hours=20), *[100.0] * 999, None)
    text = text_of(admin, page_address(watched.service))
    assert text.count("99.90 % 1000 1") == 3
    Measurement.objects.filter(failed=1).delete()
    assert "100 % 999 0" in text_of(admin, page_address(watched.service))


def test_a_day_a_week_and_a_month_have_their_own_counts(admin, watched):
    measure(watched.service, now() - timedelta(minutes=5), 100.0, None)
    for days in (3, 20, 40):
        Measurement.objects.create(
            service=watched.service, span=Measurement.Span.HOUR, at=now() - timedelta(days=days), checks=60,
            failed=days, milliseconds=80,
        )  # fmt: skip
    text = text_of(admin, page_address(watched.service))
    for part in ("50.00 % 2 1", "93.54 % 62 4", "80.32 % 122 24"):
        assert part in text


def test_an_hour_that_is_thinned_already_counts_once(admin, watched):
    at = (now() - timedelta(hours=3)).replace(minute=0, second=0, microsecond=0)
    measure(watched.service, at, *[100.0] * 60)
    Measurement.objects.create(
        service=watched.service, span=Measurement.Span.HOUR, at=at, checks=60, failed=0, milliseconds=100
    )
    assert text_of(admin, page_address(watched.service)).count("100 % 60 0") == 3


def charts(admin, service: Service) -> list[TimeSeriesChart]:
    """Return the charts on the page of a service, which come after the uptime."""
    return admin.get(page_address(service)).context["figures"][1:]


def test_charts_are_drawn_and_described_in_words(admin, watched):
    measure(watched.service, now() - timedelta(hours=2), 100.0, 300.0, None, 100.0)
    page = admin.get(page_address(watched.service)).content.decode()
    assert page.count('role="img"') == 2
    assert "167 ms on average, at most 300 ms. 1 of 4 checks failed.</desc>" in page
    assert "polyline" in page
    assert 'rect class="failed"' in page


def test_the_line_is_broken_where_nothing_was_checked(admin, watched):
    measure(watched.service, now() - timedelta(hours=9), *[100.0] * 60)
    measure(watched.service, now() - timedelta(hours=2), *[100.0] * 60)
    day, month = charts(admin, watched.service)
    assert [len([tone for tone, _ in day.lines if tone == line]) for line in ("first", "second")] == [2, 2]
    assert [tone.split()[0] for tone, _ in month.lines] == ["first", "first"]
    assert not day.bars


def test_a_service_that_was_never_checked_has_no_charts(admin, watched):
    assert charts(admin, watched.service) == []
    assert text_of(admin, page_address(watched.service)).count("– 0 0") == 3


def test_one_that_never_answered_has_a_mark_and_no_line(admin, watched):
    measure(watched.service, now() - timedelta(hours=2), *[None] * 60)
    day, _ = charts(admin, watched.service)
    assert not day.lines
    assert [bar.tone for bar in day.bars] == ["failed"]
    assert day.description == "60 of 60 checks failed."


def test_rare_checks_are_connected_by_a_line(admin, watched, settings):
    settings.PROBE_EVERY = 1200
    measure(watched.service, now() - timedelta(hours=3), *[100.0] * 9, every=timedelta(minutes=20))
    day, _ = charts(admin, watched.service)
    assert [tone for tone, _ in day.lines] == ["first", "second"]


# --- What it costs ------------------------------------------------------------------------------------------------


def cost(admin, address: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert admin.get(address).status_code == 200
    return len(queries)


def multiply(watched: Watched, world) -> None:
    """Add more of everything, to this account and to others."""
    for account in (watched.account, AccountFactory(managed=True), AccountFactory(managed=True)):
        credential, contact = CredentialFactory(account=account), ContactFactory(account=account, group="on-call")
        service = ServiceFactory(account=account, consultation_group=contact.group)
        service.credentials.add(credential)
        watched.service.credentials.add(credential)
        IssueFactory(account=account, services=[service.pk, watched.service.pk], closed=now())
        KeyPair.objects.get_or_create(account=account, defaults={"public": "ssh-ed25519 A", "encrypted": b"x"})
        instance = InstanceFactory(account=account, region=world.region, host=world.host, type=world.type)
        ComputeSettings.objects.create(instance=instance)
        for n in range(3):
            Decryption.objects.create(account=account, credential=credential, label="x", username="x", reason="x")
            measure(service, now() - timedelta(hours=n + 1), 10.0, None, 10.0)
    measure(watched.service, now() - timedelta(hours=3), *[10.0, None] * 80)


@pytest.mark.parametrize("model", MODELS)
def test_lists_cost_the_same_however_long(model, admin, watched, world):
    cost(admin, list_address(model))  # content types and the like are cached from here on
    few = cost(admin, list_address(model))
    multiply(watched, world)
    assert cost(admin, list_address(model)) == few


@pytest.mark.parametrize("name", ["service", "issue", "credential", "contact", "key", "settings", "account"])
def test_pages_cost_the_same_however_much_there_is(name, admin, watched, world):
    address = page_address(getattr(watched, name))
    cost(admin, address)
    few = cost(admin, address)
    multiply(watched, world)
    assert cost(admin, address) == few


def test_a_services_page_says_where_it_is_checked_from_and_why_not_from_its_region(admin, watched, world):
    assert "the hosts of workers" in text_of(admin, page_address(watched.service))
    Service.objects.filter(pk=watched.service.pk).update(region=world.region, address="http://192.168.128.5/")
    text = text_of(admin, page_address(watched.service))
    assert f"not from inside {world.region}. The service can be up only if" in text
