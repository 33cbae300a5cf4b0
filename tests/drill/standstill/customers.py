"""Customers of the drill, their HTTP requests, and the times of these by the database's rows."""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import transaction

from accounts.models import Account, Event, User
from accounts.services.tokens import create_token
from compute.models import Instance, Job
from tests.drill.client import IMAGE, PASSWORD, REGION, Body, Reply, ask

TIMEOUT_SECONDS = 90.0
"""Seconds after which something that did not end counts as waiting forever."""
POLL_SECONDS = 0.1
CONNECTIONS = 6


class Customer:
    """An account with an unrestricted user, who calls the API at `port`."""

    def __init__(self, port: int, name: str):
        self.port = port
        with transaction.atomic():
            account = Account.objects.create(
                company=name, email=f"{name}@example.com", extra_ipv4=6, trust_level="unlimited"
            )
            user = User.objects.create_user(name, f"{name}@example.com", account=account)
            self.token = create_token(user, "drill")[1]
        self.account_id = account.pk

    def ask(self, method: str, path: str, body: Body | None = None) -> Any:
        """Return the answer to a request. RuntimeError if it is refused, because the case needs its result."""
        status, answer = self.try_(method, path, body)
        if status != 200:
            raise RuntimeError(f"{method} {path} is answered {status}: {answer}")
        return answer

    def try_(self, method: str, path: str, body: Body | None = None) -> Reply:
        return ask(self.port, self.token, method, path, {} if body is None and method == "POST" else body)

    def create(self, label: str, booted: bool = True) -> int:
        body = {"region": REGION, "type": "g6-nanode-1", "label": label, "image": IMAGE, "root_pass": PASSWORD}
        return int(self.ask("POST", "/compute/instances", {**body, "booted": booted})["id"])

    def act(self, verb: str, pk: int) -> Event:
        """Boot, reboot or shut down an instance. Returns the event."""
        self.ask("POST", f"/compute/instances/{pk}/{verb}")
        return Event.objects.filter(entity_type="compute", entity_id=pk, action=f"compute_{verb}").latest("pk")

    def notifications(self) -> list[dict[str, Any]]:
        return list(self.ask("GET", "/account/notifications?page_size=100")["data"])


def at_once(calls: Sequence[Callable[[], Any]], connections: int = CONNECTIONS) -> list[Any]:
    """Return the results of these calls, made on `connections` connections."""
    with ThreadPoolExecutor(connections) as pool:
        return [each.result() for each in [pool.submit(call) for call in calls]]


def wait_for(condition: Callable[[], object], seconds: float = TIMEOUT_SECONDS) -> bool:
    """Tell whether `condition` becomes true within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def started(event: Event) -> float | None:
    """Return the seconds from the request until a worker took it up, or None if none has yet."""
    event.refresh_from_db()
    return None if event.started is None else (event.started - event.created).total_seconds()


def finished(event: Event) -> float | None:
    """Return the seconds from the request to its end, or None if it has not ended, or failed."""
    waited = started(event)
    done = event.status == Event.Status.FINISHED and waited is not None
    return waited + (event.duration or 0.0) if done and waited is not None else None


def ended(event: Event) -> bool:
    event.refresh_from_db()
    return event.status in (Event.Status.FINISHED, Event.Status.FAILED)


def unfinished(instances: Iterable[int] | None = None) -> list[str]:
    """Return the unfinished jobs, of these instances or of all."""
    jobs = Job.objects.filter(finished_at=None)
    if instances is not None:
        jobs = jobs.filter(instance__in=list(instances))
    return [f"job {job.pk}, {job.kind} at {job.step}: {job.error}" for job in jobs.order_by("pk")]


def statuses(instances: Iterable[int]) -> dict[int, str]:
    return dict(Instance.objects.filter(pk__in=list(instances)).values_list("pk", "status"))
