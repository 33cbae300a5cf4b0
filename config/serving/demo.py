"""The accounts that ``make serve`` shows its user, and what it tells about them."""

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

TOKEN_LABEL = "make serve"


@dataclass(frozen=True)
class Passwords:
    """Passwords of the demo account's users. Made once per state folder, so they stay the same."""

    owner: str
    staff: str


def passwords(state: Path) -> Passwords:
    """Read them from ``demo.json`` in `state`, readable by its owner only; made at the first call."""
    path = state / "demo.json"
    if not path.exists():
        fresh = Passwords(owner=secrets.token_urlsafe(12), staff=secrets.token_urlsafe(12))
        partial = path.with_suffix(".partial")
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(asdict(fresh), file)
        partial.rename(path)
    return Passwords(**json.loads(path.read_text()))


def fresh_token() -> str:
    """A token of the user ``owner`` with all scopes and no expiry, in the place of the last start's."""
    from accounts.models import PersonalToken, User
    from accounts.services.tokens import create_token

    owner = User.objects.get(username="owner")
    PersonalToken.objects.filter(user=owner, label=TOKEN_LABEL).delete()
    _, readable = create_token(owner, TOKEN_LABEL, scopes="*", expiry=None)
    return readable


def banner(port: int, token: str, known: Passwords) -> str:
    """What is printed once everything runs. Scripts read the lines ``address:`` and ``token:``."""
    host = f"http://127.0.0.1:{port}"
    address = f"{host}/v4"
    header = f'-H "Authorization: Bearer {token}"'
    body = (
        '{"type": "g6-nanode-1", "region": "us-east", "image": "compute/debian11", '
        f'"root_pass": "{secrets.token_urlsafe(12)}", "label": "first-{secrets.token_hex(2)}"}}'
    )
    return f"""
Skerry is running. Ctrl-C stops it; its data stays.

address: {address}
token: {token}

Create an instance:
  curl {address}/compute/instances {header} -H "Content-Type: application/json" -d '{body}'
Follow it to "running":
  curl {address}/compute/instances {header}

docs:  {host}/docs
admin: {host}/admin     user staff, password {known.staff}
users: owner (password {known.owner}), restricted
"""
