"""The statements that run all the time use the indexes that were made for them.

``make test ARGS="tests/sql --write-baselines"`` writes `plans.txt` anew.
"""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client

from accounts import authentication
from accounts.actors import Actor
from accounts.services import outbox
from compute.admin import usual_times
from compute.jobs import claims, store, sweeps
from compute.models import Job
from compute.services.instances import lookups
from compute.services.networking import addresses
from compute.services.networking.firewalls import delivery
from managed.services import probing
from tests.baselines import compared_with
from tests.bench.data import IMAGE
from tests.sql.database import OAUTH_TOKEN, TOKEN, checksum, populated
from tests.sql.plans import reads, statements_of

__all__ = ["populated"]

SECOND = timedelta(seconds=1)
ACTOR = Actor(account_id=1, user_id=1, username="owner1")
USUAL = usual_times.Usual(
    {"boot": SECOND, "reboot": SECOND}, {("boot", "start"): SECOND, ("reboot", "stop"): SECOND}
)
PLANS = Path(__file__).with_name("plans.txt")


def get(path: str) -> None:
    answer = Client().get(path, headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200, answer.content


def claimed(job_id: int) -> Job:
    job = store.claim(job_id)
    assert job is not None
    return job


def finish(job: Job) -> None:
    store.finish(job, state="done", message="", error="", status="running", during="booting")


def settle_probe() -> None:
    [probe] = probing.claim(1)
    assert probing.settle(probe, probing.Outcome(milliseconds=1.0))


HOT: dict[str, Callable[[], object]] = {
    "check a personal token": lambda: authentication._find(authentication._PERSONAL, checksum(TOKEN)),
    "check an OAuth token": lambda: authentication._find(authentication._OAUTH, checksum(OAUTH_TOKEN)),
    "list instances": lambda: get("/v4/compute/instances"),
    "retrieve an instance": lambda: get("/v4/compute/instances/1"),
    "look up what a create names": lambda: lookups.find_choices(ACTOR, "g6-nanode-1", "us-east", IMAGE),
    "take an address": lambda: addresses.take("us-east", 1, public=True),
    "make jobs ready": sweeps.make_ready,
    "notify of ready jobs": sweeps.due,
    "notify of a job after another": sweeps.notify_one,
    "notify again": lambda: (sweeps.count_notified(), sweeps.due_again(10)),
    "promote queued jobs": store.promote,
    "find slow jobs": lambda: list(Job.objects.filter(usual_times.slow(USUAL)).only("pk")),
    "claim the next job": claims.claim_next,
    "look whether others wait": lambda: claims.others_wait(Job.objects.get(pk=1)),
    "claim a job": lambda: store.claim(1),
    "settle a step": lambda: store.postpone(claimed(2), 1.0),
    "finish a job": lambda: finish(claimed(3)),
    "sweep for due packet filters": delivery.due,
    "claim a packet filter": lambda: delivery.claim(4),
    "claim probes": lambda: probing.claim(10),
    "settle a probe": settle_probe,
    "claim a message": outbox.claim,
}


@pytest.fixture(scope="module")
def plans(populated) -> dict[str, list[str]]:
    return {
        name: sorted({each for sql, params in statements_of(run) for each in reads(sql, params)})
        for name, run in HOT.items()
    }


def test_the_indexes_used_are_those_written_down(plans, write_baselines):
    lines: list[str] = []
    for name, tables in plans.items():
        lines += [name, *(f"    {table}" for table in tables), ""]
    compared_with(PLANS, lines[:-1], write_baselines)
