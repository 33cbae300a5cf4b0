"""Log lines: the ids and labels of their subjects, as JSON in production, and no secret."""

import io
import json
import logging
import logging.config
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from compute.drivers.base import DriverError, Refused
from compute.models import Host
from config.processes.logging import about, configuration, current_subject
from tests.client import APIClient
from tests.compute.memory_driver import MemoryDriver, failing_at
from tests.compute.run_jobs import work
from tests.factories import token_of
from tests.world import STRONG, World

pytestmark = pytest.mark.django_db


@pytest.fixture
def lines(caplog) -> Callable[[], list[dict[str, Any]]]:
    """Return a function that returns the parsed log lines of a production process.

    No request came before. Otherwise lines would name the subject of another test's request in this thread.
    """
    current_subject.set({})
    made = configuration(production=True, level="DEBUG")
    configurator = logging.config.DictConfigurator(made)
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(configurator.configure_formatter(made["formatters"]["json"]))
    handler.addFilter(configurator.configure_filter(made["filters"]["id"]))
    loggers = [logging.getLogger(name) for name in ("access", "accounts", "compute", "config")]
    for logger in loggers:
        caplog.set_level(logging.DEBUG, logger.name)
        logger.addHandler(handler)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    for logger in loggers:
        logger.removeHandler(handler)


def test_lines_of_a_job_name_it_with_instance_host_and_account(world: World, settings, lines):
    settings.JOB_BACKOFF = 0
    instance = world.create(label="web-1")
    job = instance.jobs.get()
    work(job, MemoryDriver())
    [ended] = [line for line in lines() if "ended" in line["message"]]
    assert ended["message"] == f"job {job.pk} ({job.kind}) of web-1 ({instance.pk}) ended: done"
    assert {name: ended[name] for name in ("job_id", "kind", "instance_id", "instance", "host", "account_id")} == {
        "job_id": job.pk, "kind": job.kind, "instance_id": instance.pk, "instance": "web-1",
        "host": Host.objects.get().label, "account_id": world.account.pk,
    }  # fmt: skip
    assert current_subject.get() == {}, "what comes after the job is not about it"


def test_lines_of_development_end_with_their_subject():
    made = configuration(production=False, level="DEBUG")
    readable = logging.config.DictConfigurator(made).configure_formatter(made["formatters"]["readable"])
    record = logging.makeLogRecord({"name": "compute", "levelname": "INFO", "msg": "It runs.", "request_id": "abc"})
    with about(job_id=5, host="hv1", account_id=None):
        assert readable.format(record).endswith("INFO    compute: It runs. [abc job_id=5 host=hv1]")
    assert readable.format(record).endswith("INFO    compute: It runs. [abc]")


@pytest.mark.parametrize("error", [DriverError, Refused, ValueError])
def test_lines_of_a_failing_job_say_as_much_and_hold_no_password(world: World, settings, lines, error):
    settings.JOB_BACKOFF = 0
    instance = world.create(label="web-1")
    driver = MemoryDriver()
    driver.before = failing_at(2, error("The disk is broken."))
    work(instance.jobs.get(), driver)
    matching = [line for line in lines() if "The disk is broken." in line["message"]]
    assert matching
    for line in matching:
        assert (line["instance"], line["instance_id"], line["account_id"]) == (
            "web-1",
            instance.pk,
            world.account.pk,
        )
    assert STRONG not in json.dumps(lines())


def test_lines_of_a_request_name_caller_and_account_and_not_the_token(owner, lines):
    token = token_of(owner)
    Client(headers={"X-Request-ID": "abc", "Authorization": f"Bearer {token}"}).get("/v4/profile")
    [line] = [line for line in lines() if line["logger"] == "access"]
    assert (line["request_id"], line["user"], line["user_id"], line["account_id"]) == (
        "abc", "owner", owner.pk, owner.account_id,
    )  # fmt: skip
    assert token not in json.dumps(lines())


def test_lines_of_a_strangers_request_name_nobody_who_asked_before(owner, lines):
    APIClient(token_of(owner)).get("/v4/profile")
    Client().get("/v4/regions")
    assert [line["user_id"] for line in lines() if line["logger"] == "access"] == [owner.pk, None]


def test_a_page_names_who_is_signed_in(owner, lines):
    browser = Client()
    browser.force_login(owner)
    browser.get("/home/profile")
    [line] = [line for line in lines() if line["logger"] == "access"]
    assert (line["user"], line["account_id"]) == ("owner", owner.account_id)
