"""A program that calls all operations of an API with another word, and prints what it answers.

`test_word.py` runs it, because a process reads the word when it starts. The environment has API_WORD, the only
argument is the name of the tests' database. Nothing is committed.
"""

import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

NEUTRAL_TEXT = re.compile(r'"[^"]*(?<![A-Za-z])[Cc]omputes?(?![a-z])[^"]*"')
"""A key or a text of JSON with the neutral word."""


def main(database: str) -> None:
    """Print the answers in the neutral form, by operation."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()

    from django.conf import settings
    from django.db import transaction
    from django.test.utils import setup_test_environment

    from accounts.hashers import PasswordHasher
    from config import word
    from config.egress import guard
    from config.errors import Problem

    settings.DATABASES["default"]["NAME"] = database
    Problem.spell = word.spell  # as config.wsgi does
    settings.WHITENOISE_AUTOREFRESH = True
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, "1000000/60")
    setup_test_environment()
    guard.sources.clear()
    PasswordHasher.time_cost, PasswordHasher.memory_cost = 1, 8
    with transaction.atomic():
        json.dump(found(), sys.stdout)
        transaction.set_rollback(True)


def found() -> dict[str, Any]:
    """Return everything that `test_word.py` compares."""
    from django.db import transaction
    from drf_spectacular.generators import SchemaGenerator

    from config import word
    from tests import client
    from tests.config.api import word_checks
    from tests.examples import example_scene

    document = SchemaGenerator().get_schema(request=None, public=True)
    client.document = lambda: document  # type: ignore[attr-defined] # answers are checked against it
    call = client.APIClient._call
    scene = example_scene()
    with transaction.atomic():
        word_checks.check(scene, call)
        transaction.set_rollback(True)
    client.APIClient._call = with_word(call)  # type: ignore[method-assign]
    return {"document": word.rename_all(document, word.to_neutral), "operations": dict(operations(scene))}


def with_word(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return the client's method that sends paths and bodies with the word."""
    from config import word

    def worded(self: Any, method: str, path: str, body: Any, headers: dict[str, str]) -> Any:
        sent = word.rename_all(body, word.on_wire)
        answer = call(self, method, word.on_wire(path), sent, headers)
        assert word.on_wire(path) == path or call(self, method, path, body, headers).status_code == 404
        return answer

    return worded


def operations(scene: Any) -> Any:
    """Yield each operation with its answer."""
    from config import word
    from tests.config.api.routes import routes
    from tests.examples import FIRST_MADE_ID, FIRST_MADE_NUMBER, exchange, restart_sequences, steady

    callers = {caller.name: caller for caller in scene.callers}
    for route in routes():
        neutral = replace(route, path=word.to_neutral(route.path))
        caller = callers["r/w" if neutral.documented == "/v4/profile/grants" else "owner"]
        restart_sequences(FIRST_MADE_ID, FIRST_MADE_NUMBER)
        _, answer = exchange(neutral, scene, caller)
        is_json = answer.status_code == 200 and answer["Content-Type"] == "application/json"
        response = steady(word.rename_all(answer.json(), word.to_neutral)) if is_json else None
        scopes = word.to_neutral(answer["X-Accepted-OAuth-Scopes"])
        left = sorted(set(NEUTRAL_TEXT.findall(answer.content.decode()))) if is_json else []
        found = {"response": response, "scopes": scopes, "left": left}
        yield f"{route.method.upper()} {neutral.documented}", found


if __name__ == "__main__":
    main(sys.argv[1])
