"""The operator is notified of each failure once, and of its end, by every configured channel."""

import json
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import BytesIO
from smtplib import SMTPServerDisconnected

import pytest
import requests
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from compute.models import Alarm, Heartbeat
from compute.services import alarms, heartbeats, missing_processes
from config.db.advisory import advisory_lock
from tests.factories import HostFactory
from tests.ports import free_port

pytestmark = pytest.mark.django_db

POST = requests.post
HOOK = "https://hooks.example.com/skerry"


class Hook:
    """A webhook that accepts or refuses posts."""

    def __init__(self) -> None:
        self.status = 200
        self.taken: list[dict] = []

    def post(self, address: str, json: dict, **options) -> requests.Response:
        assert address == HOOK
        assert options["timeout"]
        answer = requests.Response()
        answer.status_code = self.status
        answer.raw = BytesIO()
        if self.status == 200:
            self.taken.append(json)
        return answer


@pytest.fixture(autouse=True)
def hook(monkeypatch) -> Hook:
    made = Hook()
    monkeypatch.setattr(requests, "post", made.post)
    return made


@pytest.fixture(autouse=True)
def operator(settings, monkeypatch):
    settings.OPERATOR_EMAILS = ["night@example.com"]
    for module in (alarms, missing_processes):
        monkeypatch.setattr(module, "starting", lambda: False)
    for kind, queues in (("worker", ["celery", "clock"]), ("clock", [])):
        heartbeats.record(heartbeats.Process(kind, "1.0"), queues)


def silence(kind: str) -> None:
    Heartbeat.objects.filter(kind=kind).update(seen=Now() - 2 * heartbeats.MAX_SILENCE)


def speak(kind: str) -> None:
    Heartbeat.objects.filter(kind=kind).update(seen=Now())


def a_minute_goes_by() -> None:
    Alarm.objects.update(began=F("began") - timedelta(minutes=2))


def test_no_alarm_is_sent_while_all_works():
    alarms.check_alarms()
    assert not mail.outbox
    assert not Alarm.objects.exists()


def test_lasting_trouble_is_reported_once_and_so_is_its_end():
    silence("clock")
    alarms.check_alarms()
    assert not mail.outbox, "it may be a restart"
    a_minute_goes_by()
    alarms.check_alarms()
    alarms.check_alarms()
    [first] = mail.outbox
    assert first.to == ["night@example.com"]
    assert first.subject.startswith(
        "[Skerry] No clock runs: no job is retried, and no regular work starts (last seen"
    )
    assert "Wrong now:\n- No clock runs" in first.body
    assert "/admin/" in first.body

    speak("clock")
    alarms.check_alarms()
    alarms.check_alarms()
    [_, second] = mail.outbox
    assert second.subject.startswith("[Skerry] Over: No clock runs")
    assert not Alarm.objects.filter(ended=None).exists()


def test_trouble_that_ends_within_a_minute_is_not_reported():
    silence("worker")
    alarms.check_alarms()
    speak("worker")
    alarms.check_alarms()
    a_minute_goes_by()
    alarms.check_alarms()
    assert not mail.outbox


def test_simultaneous_troubles_are_one_message():
    for number in range(alarms.MAX_LISTED_ALARMS + 1):
        HostFactory(label=f"hv{number}", unreachable_since=Now())
    silence("clock")
    alarms.check_alarms()
    a_minute_goes_by()
    alarms.check_alarms()
    [one] = mail.outbox
    assert one.subject == f"[Skerry] {alarms.MAX_LISTED_ALARMS + 2} things do not work"
    assert one.body.count("\n- ") == alarms.MAX_LISTED_ALARMS + 1
    assert "- and 2 more" in one.body


def test_alarms_of_hosts_name_waiting_jobs_and_skip_maintenance():
    HostFactory(label="hv1", unreachable_since=Now())
    HostFactory(label="hv2", unreachable_since=Now(), maintenance=Now())
    HostFactory(label="hv3", unreachable_since=Now(), enabled=False)
    alarms.check_alarms()
    [alarm] = Alarm.objects.all()
    assert alarm.subject == "host hv1"
    assert alarm.text.startswith("Host hv1 has not answered since ")
    assert alarm.text.endswith(": no jobs wait")


def test_a_webhook_is_called_in_addition_to_the_mail(settings, hook):
    settings.OPERATOR_WEBHOOK = HOOK
    silence("clock")
    alarms.check_alarms()
    a_minute_goes_by()
    alarms.check_alarms()
    speak("clock")
    alarms.check_alarms()
    begun, over = hook.taken
    assert begun["text"].startswith("No clock runs")
    assert [each["subject"] for each in begun["problems"]] == ["clock"]
    assert over["text"].startswith("Over: No clock runs")
    assert (over["problems"], over["over"]) == ([], ["clock"])
    assert json.dumps(hook.taken)
    assert len(mail.outbox) == 2


@pytest.mark.parametrize("status", [500, 302])
def test_the_operator_is_notified_when_sending_works_again(settings, hook, status, caplog):
    settings.OPERATOR_EMAILS, settings.OPERATOR_WEBHOOK = [], HOOK
    hook.status = status
    silence("clock")
    alarms.check_alarms()
    a_minute_goes_by()
    alarms.check_alarms()
    alarm = Alarm.objects.get()
    assert (alarm.notified, alarm.error[:9]) == (None, "webhook: ")
    assert "the operator cannot be notified of No clock runs" in caplog.text
    hook.status = 200
    alarms.check_alarms()
    assert len(hook.taken) == 1
    alarm.refresh_from_db()
    assert alarm.notified is not None
    assert alarm.error == ""


def test_one_way_that_fails_leaves_the_other(settings, hook, monkeypatch):
    settings.OPERATOR_WEBHOOK = HOOK

    def gone(*args):
        raise SMTPServerDisconnected("gone")

    monkeypatch.setattr(EmailBackend, "send_messages", gone)
    silence("clock")
    alarms.check_alarms()
    a_minute_goes_by()
    alarms.check_alarms()
    alarms.check_alarms()
    assert len(hook.taken) == 1
    assert Alarm.objects.get().error == "mail: SMTPServerDisconnected: gone"


def test_a_web_process_that_fell_silent_is_missed_and_one_that_was_never_there_is_not():
    alarms.check_alarms()
    assert not Alarm.objects.exists()
    heartbeats.record(heartbeats.Process("web", "1.0"))
    silence("web")
    alarms.check_alarms()
    assert Alarm.objects.get().subject == "web"
    heartbeats.record(heartbeats.Process("web", "1.0"))
    alarms.check_alarms()
    assert not Alarm.objects.filter(ended=None).exists()


def test_a_process_that_has_just_started_ends_no_alarm(monkeypatch):
    """A process that has just started does not know yet which processes are missing."""
    silence("clock")
    alarms.check_alarms()
    for module in (alarms, missing_processes):
        monkeypatch.setattr(module, "starting", lambda: True)
    alarms.check_alarms()
    assert Alarm.objects.get().ended is None


def test_web_processes_that_were_all_stopped_are_not_missed_for_one_that_was_killed_before():
    for process in (heartbeats.Process("web", "1.0"), heartbeats.Process("web", "1.0")):
        heartbeats.record(process)
    silence("web")
    heartbeats.stop(process)
    alarms.check_alarms()
    assert not Alarm.objects.exists()


@pytest.mark.parametrize("site", ["http://127.0.0.1:{}", "http://no-such-host.invalid"])
def test_the_address_of_a_webhook_is_in_no_error(settings, monkeypatch, caplog, site):
    """Anyone who knows the address may post."""
    monkeypatch.setattr(requests, "post", POST)
    settings.OPERATOR_EMAILS = []
    settings.OPERATOR_WEBHOOK = f"{site.format(free_port())}/services/secret-of-ours?key=secret-too"
    silence("clock")
    alarms.check_alarms()
    a_minute_goes_by()
    alarms.check_alarms()
    error = Alarm.objects.get().error
    assert error.startswith("webhook: ConnectionError")
    assert "secret" not in error + caplog.text


def test_a_webhook_that_answers_without_end_holds_nobody_up(settings, monkeypatch):
    monkeypatch.setattr(requests, "post", POST)
    left = threading.Event()

    class Endless(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"more" * 4096)
            except OSError:
                left.set()

    with HTTPServer(("127.0.0.1", 0), Endless) as server:
        serving = threading.Thread(target=server.handle_request)
        serving.start()
        settings.OPERATOR_WEBHOOK = f"http://127.0.0.1:{server.server_port}/"
        silence("clock")
        alarms.check_alarms()
        a_minute_goes_by()
        alarms.check_alarms()
        serving.join()
    assert left.is_set()
    assert Alarm.objects.get().notified is not None


def test_nothing_is_checked_without_a_recipient(settings, django_assert_num_queries):
    settings.OPERATOR_EMAILS = []
    silence("clock")
    with django_assert_num_queries(0):
        alarms.check_alarms()


def test_one_process_looks_at_a_time():
    silence("clock")
    with advisory_lock(connection, alarms.ADVISORY_LOCK) as take:
        assert take()
        alarms.check_alarms()
        assert not Alarm.objects.exists()
    alarms.check_alarms()
    assert Alarm.objects.exists()


def test_alarms_of_long_ago_are_deleted():
    Alarm.objects.create(subject="clock", text="No clock runs", ended=Now() - 2 * alarms.ALARM_RETENTION)
    Alarm.objects.create(subject="clock", text="No clock runs")
    assert alarms.delete_old() == 1
    assert Alarm.objects.get().ended is None
