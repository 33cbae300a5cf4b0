"""System checks of what is in the database: ``manage.py check --deploy --database default`` says them.

By Django's rule those that ask a database run only where it is named, and these with ``--deploy`` besides: no other
command pays for them, and the first `migrate` has no tables to ask.
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
    """The findings about the rows; one where the database cannot be asked."""
    if not databases:
        return []
    try:
        return [Finding(sentence, id=f"skerry.{number}") for number, sentence in readiness.findings()]
    except DatabaseError as error:
        said = " ".join(str(error).split())
        return [Finding(f"The database cannot be asked for regions, hosts and processes: {said}", id="skerry.W029")]
