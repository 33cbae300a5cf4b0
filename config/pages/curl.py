"""The curl line that makes the same API request as a form."""

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings


@dataclass(frozen=True, slots=True)
class Secret:
    """The place of a secret in a body: the name of the shell variable that holds the secret."""

    name: str


def curl(method: str, path: str, body: Mapping[str, Any]) -> str:
    """Return a command for a POSIX shell. The token is in `TOKEN`, and each `Secret` of the body in its variable.

    Values of the body are in single quotes, so that the shell changes nothing in them.
    """
    mark = secrets.token_hex(8)  # unknown to the body's author, so that no text of the body is taken for a secret
    text = json.dumps(body, indent=2, ensure_ascii=False, default=lambda secret: f"{mark}{secret.name}")
    quoted = re.sub(rf"{mark}(\w+)", r"""'"$\1"'""", text.replace("'", r"'\''"))
    return (
        f"curl -X {method} {settings.SITE_URL}{path} \\\n"
        '  -H "Authorization: Bearer $TOKEN" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        f"  -d '{quoted}'"
    )
