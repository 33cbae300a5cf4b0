"""The demo account of ``make serve``: the logins of its users, and the banner that prints them."""

import json
import os
import secrets
import shlex
import shutil
import sys
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from config import word
from config.environment.folders import state_variable
from config.environment.places import INSTALLED, ROOT
from config.laptop.embedded.files import writing


@dataclass(frozen=True)
class Logins:
    """Passwords of the demo account's users, and their tokens. A missing value is empty."""

    owner: str = ""
    staff: str = ""
    restricted: str = ""
    owner_token: str = ""
    restricted_token: str = ""
    staff_token: str = ""


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
The command creates a real machine. It boots within a minute, or within seconds with KVM. Log in as root on its
console, with the password from the command above (Ctrl-] closes the console). `--how` shows the ssh command:
  {manage} console {label}
  {manage} console {label} --how
Machines keep running when the server stops. Shut them down first, or use them again after the next start.
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
    manage = f"{state_variable()}{_manage()}"
    more = LOG_IN.format(label=label, manage=manage) if place.real else EXAMPLE
    host = f"http://127.0.0.1:{port}"
    address, instances = f"{host}/v4", word.on_wire("/compute/instances")
    header = f'-H "Authorization: Bearer {known.owner_token}"'
    body = (
        f'{{"type": "g6-nanode-1", "region": "{place.region}", "image": "{word.on_wire(place.image)}", '
        f'"root_pass": "{secrets.token_urlsafe(12)}", "label": "{label}"}}'
    )
    shell = f"{'' if port == DEFAULT_PORT else f'PORT={port} '}{state_variable()}. {_shell_script()}"
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


def description(port: int, known: Logins) -> str:
    """Return the line of JSON that an ephemeral installation prints once it is ready."""
    return json.dumps(
        {
            "address": f"http://127.0.0.1:{port}/v4",
            "tokens": {
                "owner": known.owner_token,
                "restricted": known.restricted_token,
                "staff": known.staff_token,
            },
            "passwords": {"owner": known.owner, "restricted": known.restricted, "staff": known.staff},
            "pid": os.getpid(),
        }
    )


def _manage() -> str:
    """Return the command that runs a command of Django in this environment, from the current folder."""
    python = Path(sys.executable)
    if not INSTALLED:
        return f"{_from_here(python)} manage.py"
    program, found = python.with_name("skerry"), shutil.which("skerry")
    on_path = found is not None and Path(found).resolve() == program.resolve()
    return f"{'skerry' if on_path else _from_here(program)} manage"


def _shell_script() -> str:
    return shlex.quote(str(ROOT / "docs/shell.sh")) if INSTALLED else "docs/shell.sh"


def _from_here(path: Path) -> str:
    """Return `path` relative to the current folder if it is inside."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
