"""Hosts that do not answer, and workers and clocks that do not run. They come first under Needs attention."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from accounts.models import Account, Event
from compute.admin import outages
from compute.admin.job_status import JobProgress, with_progress
from compute.models import Heartbeat, Host, Job, Reservation
from compute.services import heartbeats, missing_processes
from compute.services.heartbeats import MAX_SILENCE, Process
from compute.services.instances import instances, power
from compute.worker import engine
from tests.compute.memory_driver import failing_at
from tests.compute.run_jobs import work
from tests.config.admin.pages import list_address, page_address
from tests.messages import messages

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


def notices(browser) -> list[tuple[str, str]]:
    """Return the lines of the panel, with their links."""
    page = browser.get("/admin/").content.decode()
    panel = page[page.index("Needs attention") : page.index("</section>")]
    found = re.findall(r'<a href="([^"]*)">([^<]*)</a>', panel)
    return [(text, address.replace("&amp;", "&")) for address, text in found]


def texts(browser) -> list[str]:
    return [text for text, _ in notices(browser)]


def fall_silent(**which) -> None:
    Host.objects.filter(**which).update(unreachable_since=Now() - 3 * MINUTE, unreachable_error="No route to host.")


@pytest.fixture
def host(running) -> Host:
    return running.host


@pytest.fixture
def other(world, host) -> Host:
    """Another host of the region."""
    return Host.objects.create(label="elsewhere", region=world.region)


def listed(browser, address: str) -> set[Job]:
    return set(browser.get(address).context["cl"].result_list)


def test_a_host_that_does_not_answer_stands_first_with_how_many_jobs_wait(admin, host, running, world):
    job = power.reboot(world.actor, running)
    Job.objects.filter(pk=job.pk).update(run_at=Now() - 60 * MINUTE)
    Heartbeat.objects.all().delete()
    fall_silent()
    found = notices(admin)
    assert re.fullmatch(
        rf"Host {host.label} has not answered for 3 min \(since [-0-9: ]+ UTC\): 1 job waits", found[0][0]
    )
    assert found[1][0].startswith("No worker runs: ")
    assert any(text.startswith("Stuck jobs") for text, _ in found[2:])
    assert listed(admin, found[0][1]) == {job}


def test_without_jobs_it_leads_to_the_hosts_page_with_the_last_error(admin, host):
    fall_silent()
    [(text, address)] = notices(admin)
    assert text.endswith(": no jobs wait")
    assert address == page_address(host)
    page = admin.get(address).content.decode()
    assert "not for 3 min" in page
    assert "No route to host." in page
    assert host in admin.get(list_address(Host), {"answers": "no"}).context["cl"].result_list
    assert not admin.get(list_address(Host), {"answers": "yes"}).context["cl"].result_list


def test_without_permission_for_jobs_the_link_leads_to_the_host(client, host, running, world):
    from django.contrib.auth.models import Permission

    from accounts.models import User

    power.reboot(world.actor, running)
    fall_silent()
    user = User.objects.create_user("racks", "racks@example.com", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_host"))
    client.force_login(user)
    assert [address for _, address in notices(client)] == [page_address(host)]


def test_a_move_waits_for_both_of_its_hosts(admin, host, other, running, world):
    job = power.reboot(world.actor, running)
    Job.objects.filter(pk=job.pk).update(kind="migrate", data={"host": other.pk, "from": host.pk})
    for each in (host, other):
        fall_silent(pk=each.pk)
    assert [text.rpartition(": ")[2] for text in texts(admin)] == ["1 job waits"] * 2
    for each in (host, other):
        assert listed(admin, f"{list_address(Job)}?host={each.pk}&now=live") == {job}
    for page in (list_address(Job), page_address(running)):
        assert f"to host {other.label}" in admin.get(page).content.decode()


def test_a_disabled_host_counts_as_long_as_something_is_on_it(admin, host, running):
    Host.objects.update(enabled=False)
    fall_silent()
    assert len(texts(admin)) == 1
    Reservation.objects.filter(host=host).delete()
    assert texts(admin) == []


def test_a_host_in_maintenance_is_marked_and_comes_last(admin, host, other):
    fall_silent()
    Host.objects.filter(pk=host.pk).update(maintenance=Now())
    found = texts(admin)
    assert found[0].startswith(f"Host {other.label} has not answered")
    assert found[1].startswith(f"Host {host.label}, in maintenance, has not answered")


def test_many_hosts_are_ten_lines_and_a_number(admin, world):
    Host.objects.bulk_create(Host(label=f"h{n:02}", region=world.region) for n in range(13))
    fall_silent(label__startswith="h")
    found = notices(admin)
    assert len(found) == outages.MAX_HOSTS + 1
    assert found[-1] == ("More hosts that do not answer: 3", f"{list_address(Host)}?answers=no")


def test_the_index_costs_the_same_however_many_hosts_are_silent(admin, world, running):
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            admin.get("/admin/")
        return len(queries)

    cost()
    few = cost()
    Host.objects.bulk_create(Host(label=f"h{n:02}", region=world.region) for n in range(5))
    power.reboot(world.actor, running)
    fall_silent()
    assert cost() == few


# --- processes ----------------------------------------------------------------------------------------------------


def age(kind: str, by: timedelta) -> None:
    Heartbeat.objects.filter(kind=kind).update(seen=Now() - by)


@pytest.mark.parametrize(("kind", "text"), [("worker", "No worker runs: jobs wait"), ("clock", "No clock runs: ")])
def test_a_silent_process_is_reported_with_its_last_heartbeat(kind, text, admin):
    assert texts(admin) == []
    age(kind, MAX_SILENCE / 2)
    assert texts(admin) == []
    age(kind, 2 * MAX_SILENCE)
    [(found, address)] = notices(admin)
    assert found.startswith(text)
    assert re.search(r"\(last seen [-0-9: ]+ UTC\)$", found)
    assert "silent for" in admin.get(address).content.decode()


def test_a_stopped_worker_counts_as_missing(admin):
    process = Process("worker", "1.0")
    Heartbeat.objects.filter(kind="worker").delete()
    heartbeats.record(process, ["celery", "clock"])
    assert texts(admin) == []
    heartbeats.stop(process)
    assert texts(admin)[0].startswith("No worker runs")
    heartbeats.record(process, ["celery", "clock"])
    assert texts(admin) == [], "it lives after all"


def test_where_none_ever_ran_it_says_so(admin):
    Heartbeat.objects.all().delete()
    assert [text.partition(" (")[2] for text in texts(admin)] == ["none was ever seen)"] * 2


def test_another_one_that_runs_is_enough(admin):
    age("worker", 2 * MAX_SILENCE)
    heartbeats.record(Process("worker", "1.0", hostname="another"), ["celery", "clock"])
    assert texts(admin) == []


def test_workers_that_have_other_queues_take_no_jobs(admin):
    Heartbeat.objects.filter(kind="worker").update(queues=["clock"])
    assert texts(admin) == ["No worker serves the queue celery: jobs wait"]
    Heartbeat.objects.filter(kind="worker").update(queues=["celery"])
    assert texts(admin) == ["No worker serves the queue clock: regular work waits"]


def test_a_broker_that_does_not_answer_is_named_in_the_workers_place(admin, settings):
    from tests.ports import free_port

    age("worker", 2 * MAX_SILENCE)
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    assert texts(admin)[0].startswith("The broker (Redis) does not answer: jobs wait (last worker seen ")


def test_waiting_messages_are_reported_while_workers_run(admin, settings):
    with messages(settings) as broker:
        for queue in ("celery", "clock"):
            broker.send(queue, age=missing_processes.LATE_SECONDS + 60)
        [(text, address)] = notices(admin)
        assert re.match(
            r"Messages wait: 1 in the queue celery, the oldest for \d+ min; 1 in the queue clock, the oldest", text
        )
        assert address == list_address(Heartbeat)
        age("worker", 2 * MAX_SILENCE)
        [found] = texts(admin)
        assert found.startswith("No worker runs"), "which says why they wait"


def test_a_web_process_that_has_just_begun_gives_the_others_time(admin, monkeypatch):
    Heartbeat.objects.all().delete()
    monkeypatch.undo()
    monkeypatch.setattr(missing_processes, "_started", missing_processes.time.monotonic())
    assert texts(admin) == []
    monkeypatch.setattr(
        missing_processes, "_started", missing_processes.time.monotonic() - MAX_SILENCE.total_seconds()
    )
    assert len(texts(admin)) == 2


def test_rows_of_processes_long_gone_are_deleted():
    age("worker", 2 * heartbeats.HEARTBEAT_RETENTION)
    assert heartbeats.delete_old() == 1
    assert set(Heartbeat.objects.values_list("kind", flat=True)) == {"clock"}


# --- jobs ---------------------------------------------------------------------------------------------------------


def test_the_list_links_host_and_account_and_is_filtered_by_them(admin, host, other, running, world):
    page = admin.get(list_address(Job)).content.decode()
    for about in (host, running.account):
        assert f'href="{page_address(about)}"' in page
    stranger = Account.objects.create(email="stranger@example.com")
    job = running.jobs.get()
    assert listed(admin, f"{list_address(Job)}?host={host.pk}") == {job}
    assert listed(admin, f"{list_address(Job)}?host={other.pk}") == set()
    assert listed(admin, f"{list_address(Job)}?account={running.account_id}") == {job}
    assert listed(admin, f"{list_address(Job)}?account={stranger.pk}") == set()
    assert listed(admin, f"{list_address(Job)}?q={running.account.email[:4]}") == {job}


def test_jobs_of_an_instance_that_is_gone_are_found_by_its_account(admin, running, world, driver):
    account = running.account_id
    work(instances.delete(world.actor, running), driver)
    assert len(listed(admin, f"{list_address(Job)}?account={account}")) == 2


def test_the_filter_offers_few_accounts_however_many_there_are(admin, running):
    Account.objects.bulk_create(Account(email=f"a{n}@example.com") for n in range(40))
    page = admin.get(list_address(Job)).content.decode()
    assert page.count("?account=") == 0
    chosen = Account.objects.last()
    assert page_address(chosen) not in page
    assert f"?account={chosen.pk}" in admin.get(list_address(Job), {"account": chosen.pk}).content.decode()


@pytest.mark.parametrize(
    ("state", "attempt", "text"),
    [
        ("active", 2, "attempt 2 of 5"),
        ("active", 5, "last attempt (5 of 5)"),
        ("active", 7, "too many failures, ending: attempt 7"),
        ("undoing", 7, "undoing, attempt 7"),
    ],
)
def test_attempts_beyond_the_limit_have_their_own_text(state, attempt, text, admin, running, world, settings):
    settings.JOB_ATTEMPTS = 5
    job = power.reboot(world.actor, running)
    Job.objects.filter(pk=job.pk).update(state=state, attempt=attempt)
    assert JobProgress(with_progress(Job.objects).get(pk=job.pk)).attempt() == text
    for page in (list_address(Job), page_address(running)):
        assert text in admin.get(page).content.decode()
        assert "7 of 5" not in admin.get(page).content.decode()


def test_an_object_deleted_while_it_is_made_is_no_failure(admin, world, driver):
    made = world.create()
    provision = made.jobs.get()
    driver.before = failing_at(len(driver.calls) + 1, times=1)
    engine.run(provision.pk, driver)
    made.refresh_from_db()
    deletion = instances.delete(world.actor, made)
    work(provision, driver)
    work(deletion, driver)

    event = Event.objects.get(action="compute_create")
    assert event.status == "failed", "to clients it is"
    assert texts(admin) == []
    for page in (list_address(Job), list_address(Event), page_address(made.account)):
        text = admin.get(page).content.decode()
        assert "superseded" in text.lower()
        assert 'status bad">failed' not in text
    assert event in admin.get(list_address(Event), {"outcome": "superseded"}).context["cl"].result_list
    assert not admin.get(list_address(Event), {"outcome": "failed"}).context["cl"].result_list


def test_a_job_undone_for_a_deletion_is_no_failure_either(admin, world, running, driver):
    """Such as an image in creation, which stays when its instance is deleted."""
    from compute.services.images.images import create_from_disk

    create_from_disk(world.actor, running.disks.earliest("pk").pk, label=None, description=None)
    saving = Job.objects.get(kind="imagize")
    driver.before = failing_at(len(driver.calls), times=1)
    engine.run(saving.pk, driver)
    deletion = instances.delete(world.actor, running)
    assert work(saving, driver).error == Event.SUPERSEDED
    work(deletion, driver)
    assert texts(admin) == []
