"""System checks of the rows of an installation: ``manage.py check --deploy --database default`` shows their
findings.

Django runs checks that read a database only if the command names the database, and these checks only with
``--deploy``. So no other command waits for them, and the first `migrate` does not run them without tables.
"""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Tags, register
from django.core.checks import Warning as Finding
from django.db import DatabaseError

from compute.services import readiness


@register(Tags.database, deploy=True)
def installation(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Return the findings about the rows, or one finding if the database cannot be read."""
    if not databases:
        return []
    try:
        return [Finding(sentence, id=f"skerry.{number}") for number, sentence in readiness.findings()]
    except DatabaseError as error:
        reason = " ".join(str(error).split())
        return [
            Finding(f"Regions, hosts and processes cannot be read from the database: {reason}", id="skerry.W029")
        ]
