"""Findings about the environment of a production installation."""

import logging
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.checks import run_checks
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from config.environment import checks
from config.monitoring import health
from config.processes import starting
from tests.config.environment.variables import environment

pytestmark = pytest.mark.filterwarnings("ignore:Overriding setting DATABASES")
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def complete(settings, tmp_path):
    """An installation without findings."""
    settings.PRODUCTION, settings.REHEARSAL = True, False
    settings.DEBUG = False
    settings.STATE_DIR = tmp_path
    tmp_path.chmod(0o700)
    settings.SITE_URL = "https://cloud.example.com"
    settings.ALLOWED_HOSTS = ["cloud.example.com"]
    settings.NUM_PROXIES = 1
    settings.SESSION_COOKIE_SECURE = True
    settings.STAFF_SECOND_FACTOR = True
    settings.SECRET_KEY, settings.ENCRYPTION_KEYS = SECRET, [KEY]
    settings.DATABASES = {"default": {**settings.DATABASES["default"], "HOST": "db.example.com"}}
    settings.REDIS_URL = "redis://:password@redis.example.com"
    settings.OPERATOR_EMAILS, settings.METRICS_TOKEN = ["ops@example.com"], "token"
    settings.PLATFORM_DOMAIN, settings.DNS_NAMESERVERS = "ip.example.com", ["ns1.example.com"]
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.DEFAULT_FROM_EMAIL = "Example <noreply@example.com>"
    settings.SMS_GATEWAY = "accounts.sms.http"
    return settings


SECRET, KEY = "0123456789abcdef" * 4, "fedcba9876543210" * 4
START_TWO = """
import multiprocessing, os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
from config.processes import starting

with multiprocessing.get_context(sys.argv[1]).Pool(1, maxtasksperchild=1) as pool:
    print(pool.apply(starting._is_first), pool.apply(starting._is_first))
"""


def of_services() -> list[tuple[str, str]]:
    """Return the findings about broker and migrations. The check names the database."""
    return [(each.id, str(each.msg)) for each in checks.running(None, ["default"])]


@pytest.mark.django_db
def test_running_services_cause_no_warning(django_assert_num_queries):
    assert of_services() == []
    with django_assert_num_queries(0):
        assert checks.running(None) == []


@pytest.mark.django_db
def test_a_broker_that_does_not_answer_is_reported(settings):
    settings.REDIS_URL = "redis://:hidden@127.0.0.1:1/0"
    [(number, sentence)] = of_services()
    assert number == "skerry.W038"
    assert sentence.startswith("The broker at REDIS_URL does not answer: ")
    assert "Connection refused" in sentence
    assert "hidden" not in sentence


@pytest.mark.django_db
def test_a_broker_that_hangs_is_reported(settings, monkeypatch):
    monkeypatch.setattr(checks, "BROKER_WITHIN", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        settings.REDIS_URL = f"redis://127.0.0.1:{mute.getsockname()[1]}/0"
        assert [number for number, _ in of_services()] == ["skerry.W038"]


@pytest.mark.django_db
def test_missing_migrations_are_reported():
    name = health.newest_migrations()[1][health.newest_migrations()[0].index("compute")]
    MigrationRecorder.Migration.objects.filter(app="compute", name=name).delete()
    assert of_services() == [("skerry.W039", f"Migrations are missing: compute.{name}.")]


def finding_ids() -> list[str]:
    return [str(found.msg) for found in checks.findings()]


def test_nothing_is_said_of_a_complete_one(complete):
    assert finding_ids() == []


def test_a_complete_deployment_has_no_warnings_and_no_needless_silence(settings, tmp_path):
    variables = environment(
        PRODUCTION="1", SECRET_KEY=SECRET, ENCRYPTION_KEYS=KEY, NUM_PROXIES="1", STATE_DIR=str(tmp_path / "state"),
        SITE_URL="https://cloud.example.com", ALLOWED_HOSTS="cloud.example.com",
        REDIS_URL="redis://:password@redis.example.com",
        OPERATOR_WEBHOOK="https://ops.example.com/skerry",
        METRICS_TOKEN="token", PLATFORM_DOMAIN="ip.example.com", DNS_NAMESERVERS="ns1.example.com",
        DATABASE_URL="postgres://user:password@db.example.com/skerry", MAIL_FROM="Example <noreply@example.com>",
        EMAIL_URL="smtp+tls://user:password@mail.example.com:587",
    )  # fmt: skip
    command = [
        sys.executable,
        "-W",
        "error::UserWarning",
        "manage.py",
        "check",
        "--deploy",
        "--fail-level",
        "WARNING",
    ]
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    silenced = len(settings.SILENCED_SYSTEM_CHECKS)
    assert (done.stdout.strip(), done.stderr) == (f"System check identified no issues ({silenced} silenced).", "")


@pytest.mark.parametrize("path", ["/login", "/v4/regions", "/admin/", "/nowhere"])
@pytest.mark.parametrize("seconds", [31_536_000, 0])
def test_answers_by_https_tell_browsers_to_stay_with_it(db, settings, path, seconds):
    settings.SECURE_HSTS_SECONDS = seconds
    wanted = f"max-age={seconds}" if seconds else None
    assert Client().get(path, secure=True).headers.get("Strict-Transport-Security") == wanted
    assert "Strict-Transport-Security" not in Client().get(path).headers


@pytest.mark.parametrize(
    ("setting", "value", "sentence"),
    [
        ("SITE_URL", "http://127.0.0.1:8000", "SITE_URL is http://127.0.0.1:8000: links in mails lead"),
        ("SITE_URL", "https://localhost", "SITE_URL is https://localhost: links in mails lead"),
        ("SITE_URL", "http://cloud.example.com", "SITE_URL is http://cloud.example.com, without https"),
        ("SITE_URL", "https://other.example.com", "ALLOWED_HOSTS lacks other.example.com"),
        ("ALLOWED_HOSTS", ["*"], r"ALLOWED_HOSTS is \*"),
        ("NUM_PROXIES", 0, "NUM_PROXIES is 0"),
        ("SESSION_COOKIE_SECURE", False, "SECURE_COOKIES is off"),
        ("STAFF_SECOND_FACTOR", False, "STAFF_SECOND_FACTOR is off"),
        ("DEBUG", True, "DEBUG is on"),
        ("SECRET_KEY", "short", "SECRET_KEY can be guessed"),
        ("SECRET_KEY", "5e" * 32, "SECRET_KEY can be guessed"),
        ("SECRET_KEY", f"change-me-{SECRET}", "SECRET_KEY can be guessed"),
        ("ENCRYPTION_KEYS", [SECRET], "ENCRYPTION_KEYS is not set"),
        ("ENCRYPTION_KEYS", [KEY, "short"], "ENCRYPTION_KEYS has a key that can be guessed"),
        ("EMAIL_BACKEND", checks.CONSOLE, "EMAIL_URL is not set"),
        ("SMS_GATEWAY", "accounts.sms.console", "SMS_GATEWAY is accounts.sms.console"),
        ("REDIS_URL", "redis://redis.example.com:6379/0", "REDIS_URL has no password"),
        ("OPERATOR_EMAILS", [], "OPERATOR_EMAIL and OPERATOR_WEBHOOK are not set"),
        ("METRICS_TOKEN", "", "METRICS_TOKEN is not set"),
        ("PLATFORM_DOMAIN", "ip.skerry.example", "PLATFORM_DOMAIN is ip.skerry.example"),
        ("DNS_NAMESERVERS", ["ns1.example.com", "ns2.skerry.example"], "DNS_NAMESERVERS is ns1.example.com,ns2"),
        ("DEFAULT_FROM_EMAIL", "Skerry <noreply@skerry.example>", "MAIL_FROM is Skerry"),
    ],
)
def test_each_shortcoming_is_a_sentence_that_names_its_variable(complete, setting, value, sentence):
    setattr(complete, setting, value)
    [only] = finding_ids()
    assert re.match(sentence, only)
    assert only.endswith(".")


def test_encryption_keys_that_are_the_secret_key_are_not_called_missing(complete, monkeypatch):
    """As in a sample whose placeholders were not filled in: `SECRET_KEY=… ENCRYPTION_KEYS=…`."""
    monkeypatch.setenv("ENCRYPTION_KEYS", "…")
    complete.SECRET_KEY, complete.ENCRYPTION_KEYS = "…", ["…"]
    assert [sentence.split(":")[0] for sentence in finding_ids()] == [
        "SECRET_KEY can be guessed",
        "ENCRYPTION_KEYS has a key that can be guessed",
    ]
    complete.SECRET_KEY, complete.ENCRYPTION_KEYS = SECRET, [SECRET]
    [only] = finding_ids()
    assert only.startswith("ENCRYPTION_KEYS is the same as SECRET_KEY")


@pytest.mark.parametrize("address", ["redis://127.0.0.1:6379/0", "unix:///run/redis.sock", "redis://[::1]"])
def test_a_broker_of_this_machine_needs_no_password(complete, address):
    complete.REDIS_URL = address
    assert finding_ids() == []


def test_a_webhook_is_as_good_as_a_mail(complete):
    complete.OPERATOR_EMAILS, complete.OPERATOR_WEBHOOK = [], "https://ops.example.com/skerry"
    assert finding_ids() == []


def test_embedded_services_are_no_production(complete):
    from config.laptop.embedded import addresses

    complete.DATABASES = {"default": addresses.database(complete.STATE_DIR)}
    complete.REDIS_URL = addresses.redis_url(complete.STATE_DIR)
    assert [sentence.split()[0] for sentence in finding_ids()] == ["DATABASE_URL", "REDIS_URL"]


def test_a_laptop_is_left_alone_until_it_asks(settings):
    assert [found for found in run_checks() if found.id.startswith("skerry.")] == []
    asked = [found.id for found in run_checks(include_deployment_checks=True) if found.id.startswith("skerry.")]
    assert asked[0] == "skerry.W001"
    assert len(asked) > 4


def test_every_command_says_it_in_production(complete):
    complete.EMAIL_BACKEND = checks.CONSOLE
    assert "skerry.E014" in [found.id for found in run_checks()]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("SITE_URL", "http://127.0.0.1:8000"), ("ALLOWED_HOSTS", ["*"]), ("DEBUG", True), ("SECRET_KEY", "short"),
        ("ENCRYPTION_KEYS", ["short"]), ("EMAIL_BACKEND", checks.CONSOLE), ("SMS_GATEWAY", "accounts.sms.console"),
    ],
)  # fmt: skip
def test_production_does_not_start_with_unsafe_settings(complete, setting, value):
    setattr(complete, setting, value)
    with pytest.raises(SystemExit, match=rf"^{setting.replace('EMAIL_BACKEND', 'EMAIL_URL')} .+ \(skerry\.E\d+\)$"):
        starting.warn_at_start()
    complete.REHEARSAL = True
    starting.warn_at_start()


def test_a_state_folder_that_others_read_is_no_productions(complete):
    complete.STATE_DIR.chmod(0o750)
    with pytest.raises(SystemExit, match=r"^STATE_DIR is .+ set its mode to 0700"):
        starting.warn_at_start()
    complete.STATE_DIR = complete.STATE_DIR / "not-there-yet"
    starting.warn_at_start()


def test_only_the_first_process_of_a_server_says_it(complete, monkeypatch, caplog):
    complete.NUM_PROXIES = 0
    caplog.set_level(logging.WARNING, starting.log.name)
    monkeypatch.setattr(starting, "_is_first", lambda: False)
    starting.warn_at_start()
    assert caplog.messages == []
    monkeypatch.setattr(starting, "_is_first", lambda: True)
    starting.warn_at_start()
    [message] = caplog.messages
    assert message.startswith("NUM_PROXIES is 0")
    assert message.endswith("(skerry.W006)")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_one_process_of_a_server_counts_as_the_first(method):
    """Granian forks until Python 3.13 and spawns from 3.14 on. Each process imports the application anew."""
    started = subprocess.run(
        [sys.executable, "-c", START_TWO, method], cwd=ROOT, env=environment(), capture_output=True, text=True
    )
    assert (started.stdout.split(), started.stderr) == (["True", "False"], "")
