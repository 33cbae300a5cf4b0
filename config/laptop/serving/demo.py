"""The demo account of ``make serve``: the logins of its users, and the banner that prints them."""

import json
import os
import secrets
import sys
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from config import word
from config.environment.folders import state_variable
from config.laptop.embedded.files import writing


@dataclass(frozen=True)
class Logins:
    """Passwords of the demo account's users, and tokens of two of them. A missing value is empty."""

    owner: str = ""
    staff: str = ""
    restricted: str = ""
    owner_token: str = ""
    restricted_token: str = ""


@dataclass(frozen=True)
class Place:
    """The region and the image of the instance in the banner's curl line, and the maximum time of its first
    boot.
    """

    region: str
    image: str
    real: bool = False


DEFAULT_PORT = 8000
SIMULATED = Place("us-east", "compute/debian11")
REAL = Place("local", "compute/tiny", real=True)
EXAMPLE = """
The first start also creates the instance "example". The forms of the reference use it.
"""
LOG_IN = """
It is a real machine, which is up within a minute, or within seconds where the processor helps. Log in as root on
its console, with the password of that line (Ctrl-] leaves), or see how ssh gets in:
  {manage} console {label}
  {manage} console {label} --how
Machines go on when the server is stopped: shut them down before, or find them at the next start.
"""


def logins(state: Path) -> Logins:
    """Return the logins in ``demo.json`` of the folder `state`. Passwords are created at the first start and do not
    change.

    An unreadable file is written again: its content is stored nowhere else, and is not worth an error.
    """
    try:
        kept = json.loads((state / "demo.json").read_text())
        found = Logins(**{field.name: str(kept.get(field.name, "")) for field in fields(Logins)})
    except (FileNotFoundError, ValueError, AttributeError):
        found = Logins()
    return replace(
        found,
        **{name: getattr(found, name) or secrets.token_urlsafe(12) for name in ("owner", "staff", "restricted")},
    )


def keep(state: Path, known: Logins) -> None:
    """Write the logins to ``demo.json``, readable by its owner only. Raises `EmbeddedError` if this fails."""
    path = state / "demo.json"
    partial = path.with_suffix(".partial")
    with writing(path):
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(asdict(known), file)
        partial.rename(path)


def banner(port: int, known: Logins, place: Place = SIMULATED) -> str:
    """Return the text printed once everything runs.

    Scripts read the lines that start with ``address:`` and ``token:``.
    """
    label = f"first-{secrets.token_hex(2)}"
    manage = f"{state_variable()}{_python()} manage.py"
    more = LOG_IN.format(label=label, manage=manage) if place.real else EXAMPLE
    host = f"http://127.0.0.1:{port}"
    address, instances = f"{host}/v4", word.on_wire("/compute/instances")
    header = f'-H "Authorization: Bearer {known.owner_token}"'
    body = (
        f'{{"type": "g6-nanode-1", "region": "{place.region}", "image": "{word.on_wire(place.image)}", '
        f'"root_pass": "{secrets.token_urlsafe(12)}", "label": "{label}"}}'
    )
    shell = f"{'' if port == DEFAULT_PORT else f'PORT={port} '}{state_variable()}. docs/shell.sh"
    return f"""
Skerry is running. Ctrl-C stops it. Data, passwords and tokens are kept.

pages:  {host}/home
        user owner, password {known.owner}
        user restricted, password {known.restricted}
shell:  {shell}
        in another terminal, for the examples of README.md
docs:   {host}/docs
admin:  {host}/admin
        user staff, password {known.staff}

address: {address}
token: {known.owner_token}
restricted token: {known.restricted_token}

Create an instance:
  curl {address}{instances} {header} -H "Content-Type: application/json" -d '{body}'
Wait until it is "running":
  curl {address}{instances} {header}
{more}
The first token belongs to owner, who has all rights on the demo account. The user restricted can read that account,
and use objects that owner grants. Nothing is granted yet: PUT {address}/account/users/restricted/grants
"""


def _python() -> str:
    """Return the path of this Python, relative to the current folder if it is inside."""
    python = Path(sys.executable)
    return str(python.relative_to(Path.cwd())) if python.is_relative_to(Path.cwd()) else str(python)
