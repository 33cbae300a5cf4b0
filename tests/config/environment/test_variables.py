"""A variable with a bad value ends every program with one line that names the variable."""

import json
import re
import subprocess
import sys

import pytest

from config.environment.checks import renamed_variables
from config.environment.variables import RENAMED, BadVariable, Environment
from tests.config.environment.variables import ROOT, SOURCE, VARIABLE, environment
from tests.ports import free_port

FREE = {"METRICS_TOKEN", "NODEBALANCER_SOCKET", "NODEBALANCER_HAPROXY", "REDIS_PREFIX", "SMS_HTTP_BODY"}
"""Variables that accept any text."""
PROVIDER = {"OIDC_ISSUER": "https://id.example.com", "OIDC_CLIENT_ID": "skerry", "OIDC_CLIENT_SECRET": "s3cret"}

NUMBERS = re.findall(
    r"\w+",
    """
    PORT NUM_PROXIES HSTS_SECONDS PROBE_EVERY PROBE_CONCURRENCY PROBE_SHARE PROBE_DNS_TIMEOUT
    MANAGED_SERVICES MANAGED_CONTACTS
    QUOTA_USERS QUOTA_TOKENS QUOTA_SSH_KEYS QUOTA_OAUTH_CLIENTS QUOTA_TICKETS QUOTA_TICKET_FILES QUOTA_TAGS
    QUOTA_IMAGES QUOTA_STACKSCRIPTS QUOTA_FIREWALLS QUOTA_DOMAINS QUOTA_RECORDS
    MANAGED_CREDENTIALS MEASUREMENTS_KEPT HOURLY_MEASUREMENTS_KEPT EVENTS_KEPT LOGINS_KEPT JOBS_KEPT
    TOKEN_LINK_HOURS MESSAGE_ATTEMPTS ATTACHMENT_LIMIT JOB_DRIVER_TIMEOUT JOB_SOFT_LIMIT JOB_HARD_LIMIT JOB_LEASE
    TRANSACTION_IDLE_LIMIT LOCK_TIMEOUT JOB_ATTEMPTS JOB_BACKOFF JOB_SWEEP_EVERY JOB_NOTIFY_PATIENCE JOB_HOST_SHARE
    WATCHDOG_EVERY RECONCILE_EVERY MOVES_EVERY MAINTENANCE_EVERY BACKUPS_EVERY BACKUPS_TRIES BACKUPS_FAILED_KEPT
    DRIVER_SCALE RDNS_TIMEOUT DOMAIN_IMPORT_TIMEOUT FILTER_TIMEOUT IPV6_RANGES NODEBALANCERS UPLOAD_LIMIT
    OIDC_TIMEOUT BODY_TIMEOUT BODY_RATE ANSWER_TIMEOUT ANSWER_RATE DRAIN_SECONDS
    UPLOADS_AT_ONCE UPLOAD_SPACE UPLOAD_TIMEOUT UPLOAD_RATE
    UPLOAD_LIMIT_RAW CONSOLES_PER_USER CONSOLE_IDLE
    """,
)
FLAGS = [
    "PRODUCTION",
    "REHEARSAL",
    "DEBUG",
    "OAUTH_IMPLICIT",
    "SECURE_COOKIES",
    "RDNS_CHECK",
    "STAFF_SECOND_FACTOR",
    "PREPARED_STATEMENTS",
    "TRACING",
]
RATES = sorted(set(re.findall(r"RATE_LIMIT_\w+", SOURCE)))
FOLDERS = [
    "STATE_DIR",
    "STATIC_ROOT",
    "ATTACHMENTS_DIR",
    "NODEBALANCER_DIR",
    "UPLOADS_DIR",
    "ARCHIVES_DIR",
    "HYPERVISOR_DIR",
]
BAD = [
    *((name, value) for name in NUMBERS for value in ("abc", "-1", "1e99", "nan")),
    *((name, "perhaps") for name in FLAGS),
    *((name, value) for name in RATES for value in ("many", "5", "0/60", "5/0")),
    *((name, value) for name in FOLDERS for value in (__file__, f"{__file__}/below")),
    *(("PORT", value) for value in ("0", "65536")),
    *(("API_WORD", value) for value in ("Vessel", "volume", "supercompute")),
    ("API_WORD_PLURAL", "oxen"),
    *(("EVENTS_KEPT", value) for value in ("89", "99999999999")),
    *(
        ("DATABASE_URL", value)
        for value in (
            "nonsense",
            "sqlite:///here",
            "postgres://host",
            "postgres://host:port/name",
            "postgres://user:pass#word@host/name",
        )
    ),
    *(("REDIS_URL", value) for value in ("nonsense", "http://host", "redis://host:port")),
    *(
        (name, value)
        for name in ("SITE_URL", "STREAM_URL")
        for value in (
            "cloud.example.com",
            "https://",
            "ftp://x",
            "https://x/v4",
            "https://x:y",
            "https://a b",
            "https://*",
            "https://<b>",
            "https://x\\y",
            "https://[::x]",
            "https://x..y",
        )
    ),
    *(("CSRF_TRUSTED_ORIGINS", value) for value in ("cloud.example.com", "https://x,y", ",")),
    *(("ALLOWED_HOSTS", value) for value in ("https://cloud.example.com", "cloud.example.com:443", "a b")),
    *(("EMAIL_URL", value) for value in ("nonsense", "foo://x", "smtp+tls://u:p@mail:port", "smtp+tls:///")),
    *(("EMAIL_URL", value) for value in ("file:", "file://folder")),
    *(("MAIL_FROM", value) for value in ("nobody", "Foo, Inc. <a@example.com>", "Foo (Inc <a@example.com>")),
    *(("OPERATOR_EMAIL", value) for value in ("nobody", "a@example.com,nobody", "Foo <a@example.com>")),
    *(("OPERATOR_WEBHOOK", value) for value in ("hooks.example.com", "ftp://hooks.example.com", "https://")),
    *(("SECRET_KEY", value) for value in ("", "  ")),
    ("ENCRYPTION_KEYS", " , "),
    ("LOG_LEVEL", "LOUD"),
    ("HYPERVISOR", "xen"),
    *((name, value) for name in ("PROBE_FORBIDDEN", "PROBE_ALLOWED") for value in ("all", "192.0.2.1/24")),
    *(("PROBE_NAMESERVERS", value) for value in ("ns.example.com", "192.0.2.1@dns", "192.0.2.1@0")),
    *(("MAIL_PORTS_CLOSED_AFTER", value) for value in ("tomorrow", "2019-02-30", "0", "20191105", "2019-W45")),
    ("DNS_NAMESERVERS", "ns1.example.com,two words"),
    *(("PRIVATE_NETWORK", value) for value in ("private", "192.168.1.0/17", "198.18.0.0/15", "192.168.0.0/18")),
    ("PLATFORM_DOMAIN", "https://example.com"),
    *(
        (name, value)
        for name in ("RDNS_RESOLVER", "SMS_GATEWAY")
        for value in ("nonsense", "no.such.Thing", "compute.no_such.Thing", "compute.jobs.NoSuchThing", "a b.c")
    ),
    *(
        ("DRIVERS", value)
        for value in (
            "nonsense",
            "compute.drivers.simulated.SimulatedDriver",
            "a b=compute.jobs.store",
            "mine=",
            "mine=no.such.Thing",
            "mine=compute.jobs.NoSuchThing",
        )
    ),
    ("DRIVER_CONNINFO", "what is this"),
    ("SMS_HTTP_URL", "sms.example.com"),
    ("SMS_HTTP_METHOD", "TEXT"),
    ("SMS_HTTP_TYPE", "json"),
    ("SMS_HTTP_HEADERS", "Authorization"),
    ("NODEBALANCER_USER", "two words"),
    ("NODEBALANCER_RELOAD", "echo 'reloaded"),
    *((name, "") for name in PROVIDER),
    *(("OIDC_ISSUER", value) for value in ("id.example.com", "http://id.example.com", "https://[x")),
    ("OIDC_SCOPES", "profile"),
    ("OIDC_AUTHENTICATION_TYPE", "password"),
    *((name, " ") for name in ("OIDC_NAME", "OIDC_CLAIM")),
]
FOR_ALL = {"PRODUCTION": "1", "SECRET_KEY": "x" * 40, **PROVIDER}

# Each test runs one process for many values: all programs handle unreadable settings in the same way.
READ_ALL = """
import importlib, json, os, sys
import config.apps, config.environment.variables
first = dict(os.environ)
for name, value in json.load(sys.stdin):
    os.environ.clear()
    os.environ.update(first, **{name: value})
    for module in ("config.settings", "config.environment.openid"):
        sys.modules.pop(module, None)
    try:
        importlib.import_module("config.settings")
        if name in ("DRIVERS", "RDNS_RESOLVER", "SMS_GATEWAY"):
            config.environment.variables.import_named(name)
    except SystemExit as end:
        print(json.dumps([name, value, end.code]))
    else:
        print(json.dumps([name, value, None]))
"""


def test_every_variable_has_a_bad_value_here():
    known = set(VARIABLE.findall(SOURCE)) | set(PROVIDER)
    assert {name for name, _ in BAD} | FREE == known


def test_a_bad_value_is_reported_in_one_line_that_names_the_variable(tmp_path):
    given = environment(**FOR_ALL, STATE_DIR=str(tmp_path))
    run = subprocess.run(
        [sys.executable, "-c", READ_ALL], cwd=ROOT, env=given, input=json.dumps(BAD), capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert [tuple(answer[:2]) for answer in answers] == BAD
    for name, value, message in answers:
        assert message, f"{name}={value!r} was taken"
        # of several settings that depend on each other, the message may name any that is too small
        names = {name} | ({"JOB_SOFT_LIMIT", "JOB_HARD_LIMIT"} if name.startswith("JOB_") else set())
        assert message.partition(":")[0] in names, message
        assert "\n" not in message
        assert "pass#word" not in message


def test_with_nothing_set_nothing_is_wrong(tmp_path):
    given = environment(STATE_DIR=str(tmp_path / "fresh"))
    run = subprocess.run([sys.executable, "-c", "import config.settings"], cwd=ROOT, env=given)
    assert run.returncode == 0


def test_times_that_would_let_two_workers_hold_one_job_are_refused(tmp_path):
    given = environment(STATE_DIR=str(tmp_path), JOB_LEASE="70")
    run = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, env=given, capture_output=True, text=True
    )
    assert (run.returncode, run.stderr) == (1, "JOB_LEASE: must be more than the 75 s of JOB_HARD_LIMIT\n")


PROGRAMS = {
    "manage.py": ["manage.py", "migrate"],
    "worker": ["-m", "celery", "-A", "config", "worker"],
    "clock": ["-m", "celery", "-A", "config", "beat"],
    "web": ["-m", "granian", "--interface", "rsgi", "--log-level", "critical", "config.rsgi:application"],
}


@pytest.mark.system
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("variable", ["DATABASE_URL=nonsense", "DRIVERS=mine=compute.jobs.Nothing"])
def test_every_program_ends_with_that_line(program, variable, tmp_path):
    name, _, value = variable.partition("=")
    given = environment(STATE_DIR=str(tmp_path), **{name: value})
    command = [sys.executable, *PROGRAMS[program]]
    if program == "web":
        command[-1:-1] = ["--port", str(free_port())]
    run = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True, timeout=300)
    assert run.returncode == 1
    assert "Traceback" not in run.stderr
    assert [line for line in run.stderr.splitlines() if line.startswith(f"{name}: ")], run.stderr


def test_a_state_folder_that_cannot_be_created_is_reported_in_one_line(tmp_path):
    given = environment(STATE_DIR="/proc/nothing/here")
    run = subprocess.run(
        [sys.executable, "manage.py", "migrate"], cwd=ROOT, env=given, capture_output=True, text=True
    )
    assert run.returncode == 1
    assert run.stderr.startswith("STATE_DIR: ")
    assert run.stderr.count("\n") == 1


def test_a_blank_address_is_as_good_as_none(tmp_path):
    """Settings, commands and `serve` agree that the embedded services are meant."""
    given = environment(STATE_DIR=str(tmp_path), DATABASE_URL=" ", REDIS_URL="")
    run = subprocess.run(
        [sys.executable, "manage.py", "showmigrations", "regions"],
        cwd=ROOT,
        env=given,
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert "0001_initial" in run.stdout
    assert (tmp_path / "postgres").is_dir()


def test_a_database_that_does_not_answer_is_reported_in_one_line(tmp_path):
    address = f"postgres://someone:se%23cret@127.0.0.1:{free_port()}/somewhere"
    given = environment(STATE_DIR=str(tmp_path), DATABASE_URL=address)
    run = subprocess.run(
        [sys.executable, "manage.py", "migrate"], cwd=ROOT, env=given, capture_output=True, text=True
    )
    assert run.returncode == 1
    assert run.stderr.startswith("DATABASE_URL: connection failed")
    assert run.stderr.count("\n") == 1
    assert "cret" not in run.stderr


def test_an_empty_variable_is_none(monkeypatch):
    env = Environment()
    for name in ("FLAG", "NUMBER", "LIST", "RATE"):
        monkeypatch.setenv(name, "")
    assert (env.flag("FLAG", True), env.integer("NUMBER", 7), env.words("LIST", ["a"])) == (True, 7, ["a"])
    assert env.rate("RATE", "5/60") == "5/60"


@pytest.mark.parametrize(
    ("text", "value"), [("On", True), ("1", True), ("TRUE", True), ("no", False), ("0", False)]
)
def test_flags_are_words_in_any_case(monkeypatch, text, value):
    monkeypatch.setenv("FLAG", text)
    assert Environment().flag("FLAG", not value) is value


def test_a_list_may_have_a_comma_too_many(monkeypatch):
    monkeypatch.setenv("LIST", "one, two,,")
    assert Environment().words("LIST") == ["one", "two"]


def test_a_bad_variable_ends_the_program(monkeypatch):
    monkeypatch.setenv("NUMBER", "seven")
    with pytest.raises(SystemExit, match="NUMBER: 'seven' is not a whole number"):
        Environment().integer("NUMBER", 7)
    assert issubclass(BadVariable, SystemExit)


@pytest.mark.parametrize(
    ("typed", "origin"),
    [
        ("HTTPS://Cloud.Example.COM:443/", "https://cloud.example.com"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://cloud:80", "http://cloud"),
        ("https://[2001:DB8:0::1]:8443", "https://[2001:db8::1]:8443"),
        ("https://blå.example.com", "https://xn--bl-zia.example.com"),
    ],
)
def test_an_address_is_kept_as_browsers_write_it(monkeypatch, typed, origin):
    monkeypatch.setenv("SITE", typed)
    assert Environment().site("SITE", "") == origin
    assert Environment().origins("SITE") == [origin]


def test_an_origin_may_be_all_of_a_domain(monkeypatch):
    monkeypatch.setenv("ORIGINS", "https://*.example.com")
    assert Environment().origins("ORIGINS") == ["https://*.example.com"]


@pytest.mark.parametrize(
    "sender", ["a@example.com", '"Skerry, Inc." <a@example.com>', "Skerry på nett <a@example.com>"]
)
def test_a_sender_may_be_called_anything_that_a_mail_can_say(monkeypatch, sender):
    monkeypatch.setenv("SENDER", sender)
    assert Environment().sender("SENDER", "") == sender


@pytest.mark.parametrize(("new", "old"), RENAMED.items())
def test_a_renamed_variable_is_read_by_its_old_name(new, old, monkeypatch):
    monkeypatch.delenv(new, raising=False)
    monkeypatch.setenv(old, "7")
    assert Environment().text(new) == "7"
    assert Environment().integer(new, 1) == 7
    assert [found.msg for found in renamed_variables(None)] == [
        f"{old} was renamed to {new}: the next release does not read the old name."
    ]
    monkeypatch.setenv(new, "8")
    assert (Environment().text(new), Environment().integer(new, 1)) == ("8", 8)


def test_variables_by_their_names_of_now_need_no_warning(monkeypatch):
    for new, old in RENAMED.items():
        monkeypatch.delenv(old, raising=False)
        monkeypatch.setenv(new, "7")
    assert renamed_variables(None) == []
