"""Deployment scripts: writing them, and preparing one for the first boot of a disk."""

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import F

from accounts.actors import Actor
from accounts.services import quotas
from accounts.services.events import record_event
from accounts.services.grants import forget_entity, grant_creator
from compute.models import Image, StackScript
from compute.refs import script_ref
from compute.services.stackscripts import revisions
from compute.services.stackscripts.fields import read_fields, read_values
from compute.services.stackscripts.includes import NOT_PUBLIC, NOT_YOURS, Included, include
from config import word
from config.db.rows import differing, lock
from config.errors import Invalid, Missing, Problems, wrong_length

ANY = "any/all"
"""The entry of a script's images that stands for every image."""
PLACE = "/root/StackScript"
"""The path of a script on the disk that is deployed with it."""
MAX_LENGTHS = {"script": 65_535, "description": 65_535, "rev_note": 512}
MAX_IMAGES = 100
NOT_FOR_IMAGE = "The script does not support this image."


# --- writing ------------------------------------------------------------------------------------------


@transaction.atomic
def create(actor: Actor, given: Mapping[str, Any], problems: Problems | None = None) -> StackScript:
    """Make a script of the actor's account from the fields of a request. Raises `Invalid`, with all problems."""
    problems = problems or Problems()
    quotas.check_quota(actor, "stackscripts", StackScript.objects.filter(account_id=actor.account_id), problems)
    script = StackScript(account_id=actor.account_id, username=actor.username)
    _apply(actor, script, given, problems)
    script.save(force_insert=True)
    revisions.record(script, actor.username)
    grant_creator(actor, "stackscript", script.pk)
    record_event(actor, "stackscript_create", script_ref(script))
    return script


@transaction.atomic
def update(actor: Actor, script: StackScript, given: Mapping[str, Any], problems: Problems | None = None) -> None:
    """Write the values that differ. A script that is made public stays public.

    Raises `Invalid`, with all problems, and `Missing` if the script is gone.

    A new text (a revision), the publication, and all other changes together have an event each.
    """
    # locked, so that the checks below still hold at the write: revisions of one script take turns
    try:
        script.refresh_from_db(from_queryset=StackScript.objects.select_for_update(no_key=True))
    except StackScript.DoesNotExist:
        raise Missing from None
    given = differing(script, given)
    was = {name: getattr(script, name) for name in given}
    before = revisions.Text(script.script, script.rev_note, script.updated)
    _apply(actor, script, given, problems or Problems())
    changed = {name for name in given if getattr(script, name) != was[name]}
    if not changed:
        return
    script.save(update_fields=[*changed, "user_defined_fields", "updated"])
    if "script" in changed:
        revisions.record(script, actor.username, before)
    elif "rev_note" in changed:
        revisions.correct_note(script)
    if "script" in changed:
        record_event(actor, "stackscript_revise", script_ref(script), message=script.rev_note)
    if "is_public" in changed:
        record_event(actor, "stackscript_publicize", script_ref(script))
    if changed - {"script", "rev_note", "is_public"} or changed == {"rev_note"}:
        record_event(actor, "stackscript_update", script_ref(script))


@transaction.atomic
def delete(actor: Actor, script: StackScript) -> None:
    """Delete a script with the grants on it. Disks deployed with it stay. Raises `Missing` if it is gone."""
    # locked: of two deletions, one finds the script; the lock also waits for a deploy in progress
    locked = lock(StackScript.objects.filter(pk=script.pk), to_delete=True)
    forget_entity("stackscript", locked.pk)
    record_event(actor, "stackscript_delete", script_ref(locked))
    locked.delete()


def _apply(actor: Actor, script: StackScript, given: Mapping[str, Any], problems: Problems) -> None:
    """Set the given fields on the row, checked against each other and against the row's other fields."""
    for name, most in MAX_LENGTHS.items():
        if len(given.get(name, "")) > most:
            problems.add(name, wrong_length(None, most))
    if script.is_public and given.get("is_public") is False:
        problems.add("is_public", "A public script cannot be made private again.")
    for name, value in given.items():
        setattr(script, name, value)
    if "images" in given:
        script.images = list(dict.fromkeys(given["images"]))
    if "images" in given or (given.get("is_public") and "images" not in problems):
        _check_images(actor, given.get("images", script.images), script.is_public, problems)
    # a text that is too long is not read
    if "script" not in problems:
        if "script" in given:
            script.user_defined_fields = read_fields(script.script, problems)
        if "script" in given or given.get("is_public"):
            _check_includes(actor, script, problems)
    problems.raise_any()


def _check_images(actor: Actor, images: Sequence[str], public: bool, problems: Problems) -> None:
    """Check that the actor sees each image, and that the images of a public script are public."""
    if len(images) > MAX_IMAGES:
        problems.add("images", f"A script has at most {MAX_IMAGES} images.")
        return
    seen = dict(Image.objects.visible_to(actor).filter(pk__in=images).values_list("pk", "is_public"))
    for index, image in enumerate(images):
        if image != ANY and image not in seen:
            problems.add(f"images[{index}]", f"{word.quoted(word.read(image))} is not valid")
        elif image != ANY and public and not seen[image]:
            problems.add(f"images[{index}]", "A public script needs public images.")


def _check_includes(actor: Actor, script: StackScript, problems: Problems) -> None:
    """Check that the actor may use each included script, and that a public script includes public scripts only."""
    public = script.is_public
    usable = StackScript.objects.visible_to(None if public else actor)
    try:
        include(usable, script.pk, script.script, NOT_PUBLIC if public else NOT_YOURS)
    except ValueError as error:
        problems.add("script", str(error))


# --- deploying ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Deployment:
    """A script to run. `text` is the code for the first boot, with the client's values and all included scripts."""

    script: StackScript
    text: str = field(repr=False)


def resolve(
    actor: Actor,
    script_id: int | None,
    data: Mapping[str, Any] | None,
    image_id: str | None,
    problems: Problems,
) -> Deployment | None:
    """Return the script that a deploy of `image_id` runs at first boot. None without one, and if there are
    problems.

    Adds problems on ``stackscript_id`` (the actor may not use the script, or a script that it includes), ``image``
    (missing, or not one of the script's images) and ``stackscript_data.<name>``. A caller that deploys the script
    sets `Disk.stackscript`, calls `count_deployment`, and passes the text on as a secret.
    """
    if script_id is None:
        return None
    script = StackScript.objects.visible_to(actor).filter(pk=script_id).first()
    if script is None:
        problems.add("stackscript_id", "stackscript_id is not valid")
        return None
    if "image" not in problems:
        if image_id is None:
            problems.add("image", "image is required")
        elif not supports(script, image_id):
            problems.add("image", NOT_FOR_IMAGE)
    values = {}
    if "stackscript_data" not in problems:
        values = read_values(script.user_defined_fields, data, problems)
    try:
        included = include(StackScript.objects.visible_to(actor), script.pk, script.script)
    except ValueError as error:
        problems.add("stackscript_id", str(error))
        return None
    return None if problems else Deployment(script, _first_boot(included, values))


def supports(script: StackScript, image_id: str) -> bool:
    """Tell whether the script can be deployed on the image."""
    return ANY in script.images or image_id in script.images


def count_deployment(script: StackScript) -> None:
    """Count a deployment of the script, in the transaction that makes the disk.

    Raises `Invalid` on ``stackscript_id`` if the script is gone. Otherwise, it stays until the transaction ends.
    """
    if not StackScript.objects.filter(pk=script.pk).update(deployments_total=F("deployments_total") + 1):
        raise Invalid("stackscript_id is not valid", "stackscript_id")


def _first_boot(script: Included, values: Mapping[str, str]) -> str:
    """Return a shell script that runs `script`, in any language, with `values` as variables in upper case."""
    exports = [f"export {name.upper()}={shlex.quote(value)}\n" for name, value in values.items()]
    files = [_write_file(path, text) for path, text in script.files.items()]
    return (
        "#!/bin/sh\n"
        f"{''.join(exports)}"
        "umask 077\n"
        f"{''.join(files)}"
        f"{_write_file(PLACE, script.text)}"
        f"chmod 700 {PLACE}\n"
        f"exec {PLACE}\n"
    )


def _write_file(path: str, text: str) -> str:
    """Return shell code that writes a file, by a here-document that no line of the text can end.

    Line ends of browsers become Unix line ends, because the kernel would not find the interpreter otherwise.
    """
    text = text.replace("\r\n", "\n")
    end = f"END-{hashlib.sha256(text.encode()).hexdigest()}"
    return f"cat > {path} <<'{end}'\n{text}\n{end}\n"
