"""Deployment scripts: what running one at the first boot of a disk takes."""

import hashlib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F

from accounts.actors import Actor
from compute.models import StackScript
from compute.services.script_fields import read_values
from config.errors import Problems

ANY = "any/all"
"""Stands among a script's images for every one."""
PLACE = "/root/StackScript"
"""Where a script is on the disk that is deployed with it."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """A script that is to be run, and its `text` for the first boot, which has the client's values in it."""

    script: StackScript
    text: str = field(repr=False)


def resolve(
    actor: Actor,
    script_id: int | None,
    data: Mapping[str, Any] | None,
    image_id: str | None,
    problems: Problems,
) -> Deployment | None:
    """What a deploy of `image_id` with a script runs at first boot; None without a script, and where it cannot be.

    Adds problems on ``stackscript_id`` (none that the actor sees), ``image`` (none, or not one of the script's) and
    ``stackscript_data.<name>``. Whoever goes through with it sets `Disk.stackscript`, calls `count_deployment`, and
    hands the text over as a secret.
    """
    if script_id is None:
        return None
    script = StackScript.objects.visible_to(actor).filter(pk=script_id).first()
    if script is None:
        problems.add("stackscript_id", "stackscript_id is not valid")
        return None
    found = Problems()
    if image_id is None:
        found.add("image", "image is required")
    elif ANY not in script.images and image_id not in script.images:
        found.add("image", "The script does not support this image.")
    values = read_values(script.user_defined_fields, data, found)
    problems.extend(found)
    return None if found else Deployment(script, _first_boot(script.script, values))


def count_deployment(script: StackScript) -> None:
    """Note that a disk is deployed with the script, in the transaction that makes the disk."""
    StackScript.objects.filter(pk=script.pk).update(deployments_total=F("deployments_total") + 1)


def _first_boot(script: str, values: Mapping[str, str]) -> str:
    """A shell script that runs `script`, whatever that is written in, with `values` as variables in upper case.

    The script is carried in a here-document that nothing in it can end. One from a browser has line ends of which
    no kernel would find the interpreter, so they are made Unix's.
    """
    text = script.replace("\r\n", "\n")
    end = f"END-{hashlib.sha256(text.encode()).hexdigest()}"
    exports = [f"export {name.upper()}={shlex.quote(value)}\n" for name, value in values.items()]
    return (
        "#!/bin/sh\n"
        f"{''.join(exports)}"
        "umask 077\n"
        f"cat > {PLACE} <<'{end}'\n{text}\n{end}\n"
        f"chmod 700 {PLACE}\n"
        f"exec {PLACE}\n"
    )
