"""A program that sends requests to the API with another word, and prints the answers. Its writes are committed.

`test_word.py` runs it. The environment has API_WORD. The arguments are the name of the tests' database, a token,
and requests as JSON: methods, with paths and keys of bodies in the neutral form. The answers have the word.
"""

import json
import os
import sys
from typing import Any


def main(database: str, token: str, requests: list[tuple[str, str, Any]]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()

    from django.conf import settings
    from django.test import Client
    from django.test.utils import setup_test_environment

    from config import word
    from config.errors import Problem

    settings.DATABASES["default"]["NAME"] = database
    Problem.spell = word.spell  # as config.wsgi does
    settings.WHITENOISE_AUTOREFRESH = True
    setup_test_environment()
    client = Client(headers={"Authorization": f"Bearer {token}"})
    answers = []
    for method, path, body in requests:
        sent = None if body is None else word.WORD.with_names(body)
        answer = client.generic(method, word.on_wire(path), json.dumps(sent), "application/json")
        answers.append((answer.status_code, answer.json()))
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
