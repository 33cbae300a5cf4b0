"""Every operation of the document, with valid and invalid requests: each answer is documented.

`FUZZ_EXAMPLES` is the number of requests for each operation, `FUZZ_SEED` the seed. By default the same few are
drawn in each run. `make fuzz` draws many others.
"""

import json
import logging
import os
from collections import Counter
from collections.abc import Iterator

import hypothesis
import jsonschema
import pytest
import werkzeug
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connection, transaction

from tests.client import check, document
from tests.config.api.routes import Route, routes
from tests.examples import body_of, example_scene
from tests.fuzzing import drawing, judging
from tests.fuzzing.answers import Answer
from tests.policy import Caller, Scene, arranged, operation_of, values_of

pytestmark = [pytest.mark.django_db, pytest.mark.generated]

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "12"))
SEED = os.environ.get("FUZZ_SEED", "0")
SYSTEMATIC = 40 if EXAMPLES < 100 else 10_000
MAX_SHOWN = 5
"""The maximum number of findings to show for an operation."""
PARTS = 10
"""The number of parts that the operations are split into. Processes share the parts."""


@pytest.fixture
def scene(db) -> Scene:
    return example_scene()  # so the document's examples name existing objects


@pytest.fixture
def _quiet() -> Iterator[None]:
    """Turn off the access log, and keep the test's database connection open after requests.

    Django's test client keeps the connection open by itself. Other clients do not.
    """
    request_started.disconnect(close_old_connections)
    request_finished.disconnect(close_old_connections)
    logger = logging.getLogger("access")
    logger.disabled, before = True, logger.disabled
    yield
    logger.disabled = before


READABLE = {path for path, item in document()["paths"].items() if "get" in item}


class Player:
    """A client for the requests of one operation. It keeps the problems of the answers."""

    def __init__(self, route: Route, scene: Scene, caller: Caller):
        self.route = route
        self.headers = dict(caller.api._headers)
        self.client = werkzeug.Client(drawing.operations().app)
        self.writes = route.method in ("post", "put")
        self.values = values_of(route, scene, caller)
        self.good = body_of(operation_of(route), scene)
        self.statuses: Counter[int] = Counter()
        self.findings: dict[str, str] = {}

    def play(self) -> None:
        @hypothesis.seed(f"{SEED} {self.route}")
        @hypothesis.settings(
            max_examples=EXAMPLES,
            database=None,
            phases=[hypothesis.Phase.generate],
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(drawing.drawn(self.route, self.values, self.good))
        def by_chance(case) -> None:
            self.send(case)

        by_chance()  # first, because a good body may have a code that expires soon
        for case in drawing.systematic(self.route, self.values, SYSTEMATIC):
            self.send(case)

    def send(self, case) -> None:
        """Check the answer to one request against the document. The request is rolled back."""
        with transaction.atomic():
            answer = case.call(headers=self.headers)
            unreadable = self.read_again(case) if answer.status_code == 200 and self.writes else []
            connection.check_constraints()  # as a commit would
            transaction.set_rollback(True)
        self.statuses[answer.status_code] += 1
        for problem in [*judging.problems(self.route, case, answer, self.headers), *unreadable]:
            shown = f"{problem}\n  {case!r}\n  {answer.status_code} {answer.text[:500]}"
            self.findings.setdefault(problem.splitlines()[0], shown)

    def read_again(self, case) -> list[str]:
        """Return the problems of reading the object, or its list, after the request."""
        documented, path = self.route.documented, case.formatted_path
        while documented and documented not in READABLE:
            documented, path = documented.rpartition("/")[0], path.rpartition("/")[0]
        if not documented:
            return []
        answer = self.client.get(path, headers=self.headers)
        try:
            check("GET", path, Answer(answer.status_code, answer.headers, answer.data))
        except (AssertionError, jsonschema.ValidationError) as error:
            return [f"GET {documented} after it: {str(error)[:500]}"]
        return []


def count(statuses: Counter[int]) -> None:
    """Report the number of answers of each status to `make fuzz`."""
    if counts := os.environ.get("FUZZ_COUNTS"):
        with open(counts, "a") as file:
            file.write(f"{json.dumps(statuses)}\n")


def parts() -> list[list[Route]]:
    found = routes()
    return [found[number::PARTS] for number in range(PARTS)]


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize("part", parts(), ids=range(PARTS))
def test_no_answer_is_outside_of_the_document(part: list[Route], scene: Scene):
    owner = next(caller for caller in scene.callers if caller.name == "owner")
    findings, statuses = [], Counter[int]()
    for route in part:
        with arranged(route, scene):
            player = Player(route, scene, owner)
            player.play()
        statuses += player.statuses
        findings += [f"{operation_of(route)}: {shown}" for shown in list(player.findings.values())[:MAX_SHOWN]]
        if not {200, 204} & set(player.statuses):
            findings.append(f"{operation_of(route)}: no request was good enough: {dict(player.statuses)}")
    count(statuses)
    assert not findings, f"with FUZZ_SEED={SEED}:\n" + "\n".join(findings)
