"""Deployment scripts: writing them, and what running one at the first boot of a disk takes."""

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import F

from accounts.actors import Actor
from accounts.services.events import record_event
from accounts.services.grants import forget_entity, grant_creator
from compute.models import Image, StackScript
from compute.refs import script_ref
from compute.services.stackscripts.fields import read_fields, read_values
from config.db.rows import lock
from config.errors import Invalid, Problems

ANY = "any/all"
"""Stands among a script's images for every one."""
PLACE = "/root/StackScript"
"""Where a script is on the disk that is deployed with it."""
MAX_LENGTHS = {"script": 65_535, "description": 65_535, "rev_note": 512}
MOST_IMAGES = 100


# --- writing ------------------------------------------------------------------------------------------


@transaction.atomic
def create(actor: Actor, given: Mapping[str, Any]) -> StackScript:
    """Make a script of the actor's account from the fields of a request. Raises `Invalid`, with all problems."""
    script = StackScript(account_id=actor.account_id, username=actor.username)
    _apply(actor, script, given)
    script.save(force_insert=True)
    grant_creator(actor, "stackscript", script.pk)
    record_event(actor, "stackscript_create", script_ref(script))
    return script


@transaction.atomic
def update(actor: Actor, script: StackScript, given: Mapping[str, Any]) -> None:
    """Write what differs: a new text is a revision, one made public stays so, and the rest is an update.

    Each of the three that happens is an event of its own.
    """
    # what is checked below must hold when it is written: revisions of one script take turns
    script.refresh_from_db(from_queryset=StackScript.objects.select_for_update())
    was = {name: getattr(script, name) for name in given}
    _apply(actor, script, given)
    changed = {name for name in given if getattr(script, name) != was[name]}
    if not changed:
        return
    script.save(update_fields=[*changed, "user_defined_fields", "updated"])
    if "script" in changed:
        record_event(actor, "stackscript_revise", script_ref(script), message=script.rev_note)
    if "is_public" in changed:
        record_event(actor, "stackscript_publicize", script_ref(script))
    if changed - {"script", "rev_note", "is_public"} or changed == {"rev_note"}:
        record_event(actor, "stackscript_update", script_ref(script))


@transaction.atomic
def delete(actor: Actor, script: StackScript) -> None:
    """Delete a script with the grants on it. Disks deployed with it stay. Raises `Missing` when it is gone."""
    # locked: of two deletions one finds it, and who just deploys it is waited for
    locked = lock(StackScript.objects.filter(pk=script.pk), to_delete=True)
    forget_entity("stackscript", locked.pk)
    record_event(actor, "stackscript_delete", script_ref(locked))
    locked.delete()


def _apply(actor: Actor, script: StackScript, given: Mapping[str, Any]) -> None:
    """Set the given fields on the row, checked against each other and against what is there."""
    problems = Problems()
    for name, most in MAX_LENGTHS.items():
        if len(given.get(name, "")) > most:
            problems.add(name, f"{name.replace('_', ' ').capitalize()} must be at most {most} characters")
    if script.is_public and given.get("is_public") is False:
        problems.add("is_public", "A public script cannot be made private again.")
    for name, value in given.items():
        setattr(script, name, value)
    if "images" in given:
        script.images = list(dict.fromkeys(given["images"]))
    if "images" in given or given.get("is_public"):
        _check_images(actor, script.images, script.is_public, problems)
    # a text that is too long is not read
    if "script" in given and not problems:
        script.user_defined_fields = read_fields(script.script, problems)
    problems.raise_any()


def _check_images(actor: Actor, images: Sequence[str], public: bool, problems: Problems) -> None:
    """Each must be there for the actor to see, and a public script's for everybody."""
    if len(images) > MOST_IMAGES:
        problems.add("images", f"A script has at most {MOST_IMAGES} images.")
        return
    seen = dict(Image.objects.visible_to(actor).filter(pk__in=images).values_list("pk", "is_public"))
    for index, image in enumerate(images):
        if image != ANY and image not in seen:
            problems.add(f"images[{index}]", f"{image} is not valid")
        elif image != ANY and public and not seen[image]:
            problems.add(f"images[{index}]", "A public script needs public images.")


# --- deploying ----------------------------------------------------------------------------------------


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
    """Note that a disk is deployed with the script, in the transaction that makes the disk.

    Raises `Invalid` on ``stackscript_id`` when it went away meanwhile. From here on it stays until that ends.
    """
    if not StackScript.objects.filter(pk=script.pk).update(deployments_total=F("deployments_total") + 1):
        raise Invalid("stackscript_id is not valid", "stackscript_id")


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
