"""The agent as a program: one request on the standard input, one answer on the standard output, both JSON.

For the platform's key, ``sshd`` runs only this program. The directories of the host are in the command line in
``authorized_keys``, never in a request. A request is ``{"verb", "values"}``. An answer is ``{"result"}``,
``{"refused"}`` or ``{"failed"}``. The last two contain a text that customers may read.

Commands, after ``python3 -I skerry-host.pyz``::

    answer ROOT [SHARED]      answer a request of the platform

    administer ROOT [SHARED]  answer a request of root, who may use all verbs

    install ROOT              compile this file, and install it as the agent

    confine ROOT USER         set the user that QEMU runs as

    route ROOT NETWORK        make interfaces for machines; NETWORK has their private addresses

    admit ROOT SHARED KEY     allow the key of the platform to run `answer`

    dismiss KEY               revoke this permission
"""

import io
import json
import os
import re
import shlex
import sys
import traceback
import zipfile
from contextlib import ExitStack, suppress
from dataclasses import replace
from importlib.util import MAGIC_NUMBER
from marshal import dumps
from pathlib import Path
from typing import Any

from compute.drivers.qemu.agent import settings
from compute.drivers.qemu.agent.errors import Failed, Refused, details_of
from compute.drivers.qemu.agent.machines import console
from compute.drivers.qemu.agent.networks import machine_networks
from compute.drivers.qemu.agent.serving import host_log
from compute.drivers.qemu.agent.serving.calls import PROTOCOL, call
from compute.drivers.qemu.agent.store import Store, checked_machine

AGENT = "skerry-host.pyz"
CONSOLE = "console"
"""The command that the platform passes to sshd for a console. All other commands are ignored."""
MAX_REQUEST = 4096
ADMINISTRATORS = frozenset({"import_image", "delete_image"})
"""The verbs for administrators only: they can read any file of the host."""
PUBLIC_KEY = re.compile(r"(ssh|ecdsa|sk)-[a-z0-9@.-]{1,60} [A-Za-z0-9+/]{1,2000}={0,3}( [A-Za-z0-9@._:-]{1,200})?")
NO_REQUEST = (ValueError, TypeError, KeyError, RecursionError)
"""Errors of reading a request. JSON that is nested too deeply raises `RecursionError`."""
UNCHECKED = (1).to_bytes(4, "little") + bytes(8)
"""The flags and the hash of a compiled module that Python does not compare with its source. They follow the magic
number of the Python version."""


def main(arguments: list[str]) -> int:
    try:
        return _main(arguments)
    except (Refused, Failed) as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _main(arguments: list[str]) -> int:
    match arguments:
        case ["answer", root, *shared] if len(shared) < 2 and os.environ.get("SSH_ORIGINAL_COMMAND") == CONSOLE:
            converse(Store(Path(root)), 0, 1)
        case ["answer" | "administer" as how, root, *shared] if len(shared) < 2:
            store = Store(Path(root), Path(shared[0]) if shared and shared[0] else None)
            json.dump(answer(store, sys.stdin.buffer.read(), how == "administer"), sys.stdout)
        case ["install", root]:
            install(Path(sys.path[0]), Path(root))
        case ["confine", root, user]:
            store = Store(Path(root))
            settings.save(store, replace(settings.load(store), user=user))
        case ["route", root, network]:
            machine_networks.begin(Store(Path(root)), network)
        case ["admit", root, shared, key]:
            write_keys(lambda line: not has_key(line, key), [admission(Path(root), shared, key)])
        case ["dismiss", key]:
            write_keys(lambda line: not has_key(line, key), [])
        case _:
            sys.stderr.write(__doc__ or "")
            return 2
    return 0


def answer(store: Store, request: bytes, administers: bool = False) -> dict[str, Any]:
    """Carry out a request, and return its result or a sentence about its failure.

    The output of programs and unexpected errors are only in the host's log.
    """
    try:
        asked = json.loads(request)
        verb, values = str(asked["verb"]), dict(asked["values"])
    except NO_REQUEST:
        return {"refused": "The request is not valid."}
    if verb == "digest":
        return {"result": digest()}
    if verb == "protocol":
        return {"result": PROTOCOL}
    if verb in ADMINISTRATORS and not administers:
        return {"refused": f"{verb} is for the host's administrator."}
    try:
        return {"result": call(store, verb, values)}
    except Failed as error:
        if details := details_of(error):
            _log(store, verb, f"{error} {details}")
        return {"refused" if isinstance(error, Refused) else "failed": str(error)}
    except OSError as error:
        _log(store, verb, traceback.format_exc())
        return {"failed": f"The call failed on the host: {error.strerror or type(error).__name__}."}
    except Exception:  # noqa: BLE001 - every error gets an answer
        _log(store, verb, traceback.format_exc())
        return {"failed": "The call failed. The log of the host has the reason."}


def _log(store: Store, verb: str, text: str) -> None:
    """Write to the host's log, and tell the caller on standard error to read it."""
    try:
        host_log.write(store.root, verb, text)
    except OSError as error:
        sys.stderr.write(f"{verb!r:.40} failed, and the log of the host cannot be written: {error.strerror}.\n")
    else:
        sys.stderr.write(f"{verb!r:.40} failed: {host_log.LOG} of the host says why.\n")


def converse(store: Store, reader: int, writer: int) -> None:
    """Serve a console. The request is one line, ``{"machine"}``, and the answer is one line as for other requests.

    After the answer, the descriptors carry the console in both directions.
    """
    with ExitStack() as stack:
        try:
            machine = checked_machine(str(json.loads(_line(reader))["machine"]))
            attached = stack.enter_context(console.attached(store, machine))
        except Refused as error:
            response: dict[str, Any] = {"refused": str(error)}
        except Failed as error:
            response = {"failed": str(error)}
        except NO_REQUEST:
            response = {"refused": "The request is not valid."}
        else:
            response = {"result": None}
        os.write(writer, json.dumps(response).encode() + b"\n")
        if "result" in response:
            # the reader may be gone
            with suppress(BrokenPipeError):
                attached.carry(reader, writer)


def _line(reader: int) -> bytes:
    """Read one line byte by byte: the bytes after it belong to the console."""
    line = b""
    while not line.endswith(b"\n") and len(line) < MAX_REQUEST and (letter := os.read(reader, 1)):
        line += letter
    return line


def digest() -> str | None:
    """The digest of the running agent; None if it does not run from the agent's file."""
    if not zipfile.is_zipfile(sys.path[0]):
        return None
    with zipfile.ZipFile(sys.path[0]) as packed:
        return packed.read("digest").decode()


def install(file: Path, root: Path) -> None:
    """Install a file of the agent on the host, with its modules compiled for the Python of the host.

    Without this, compiling would take most of the time of a call. The file is replaced by rename: every call has
    the old agent or the new one.
    """
    root.mkdir(mode=0o711, parents=True, exist_ok=True)
    part = root / f".{AGENT}.{os.getpid()}"
    part.write_bytes(compiled(file.read_bytes()))
    part.chmod(0o644)
    part.replace(root / AGENT)


def compiled(content: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(made, "w") as target:
        for name in source.namelist():
            if name.endswith(".pyc"):
                continue
            text = source.read(name)
            target.writestr(name, text)
            if name.endswith(".py"):
                code = compile(text, name, "exec", dont_inherit=True)
                target.writestr(f"{name}c", MAGIC_NUMBER + UNCHECKED + dumps(code))
    return made.getvalue()


# --- permission to call -------------------------------------------------------------------------------------------


def admission(root: Path, shared: str, key: str) -> str:
    """The line of ``authorized_keys`` that allows a key only the verbs, in these directories."""
    if not PUBLIC_KEY.fullmatch(key):
        raise Refused("This is not a public key.")
    words = ["/usr/bin/python3", "-I", str(root / AGENT), "answer", str(root), *filter(None, [shared])]
    command = shlex.join(words)
    if not command.isprintable() or '"' in command or "\\" in command:
        raise Refused("The name of a host's directory must not contain quotation marks or backslashes.")
    return f'restrict,command="{command}" {key}'


def has_key(line: str, key: str) -> bool:
    """Tell whether a line of ``authorized_keys`` is for this key."""
    return key.split()[1] in line.split()


def write_keys(keeps: Any, added: list[str]) -> None:
    """Replace the current user's ``authorized_keys``, by rename, with the lines it `keeps` and those `added`."""
    folder = Path.home() / ".ssh"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / "authorized_keys"
    known = path.read_text().splitlines() if path.exists() else []
    lines = [*filter(keeps, known), *added]
    if lines == known:
        return
    part = folder / f".authorized_keys.{os.getpid()}"
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write("".join(f"{line}\n" for line in lines))
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
