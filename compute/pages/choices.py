"""Choices that several forms offer: SSH keys of users, images, scripts, backups, firewalls, volumes and regions."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, TypeAlias

from django.db.models import F

from accounts.actors import Actor
from accounts.models import SSHKey
from compute.models import Backup, Firewall, Image, Instance, InstanceType, StackScript, Volume
from compute.services.common.regions import capability_of, refusals_of_regions
from compute.services.hosts.placement import REGION_FULL
from compute.services.instances.offers import Offer
from compute.services.stackscripts.stackscripts import NOT_FOR_IMAGE, supports
from config.display.integers import is_id
from config.pages.forms import BodyForm
from regions.countries import country_name
from regions.models import Region

MOST_LISTED = 100
"""Scripts, firewalls and SSH keys that are listed of each kind."""
MOST_CHOICES = 500
"""Instances, volumes and addresses of an account that a select lists. Others are left to the API."""

Users: TypeAlias = list[tuple[str, str]]
"""Usernames with the labels of their SSH keys, as choices."""


def users_with_keys(actor: Actor) -> Users:
    """The users whose SSH keys can be chosen, with the labels of `MAX_LISTED` keys: the actor before the others.

    Restricted users choose their own keys alone, because they do not see other users. One query.
    """
    keys = SSHKey.objects.filter(user__account_id=actor.account_id, user__is_active=True)
    if actor.restricted:
        keys = keys.filter(user_id=actor.person)
    rows = keys.order_by("user__username", "pk").values_list("user__username", "label", "pk")
    found: dict[str, list[str]] = {}
    for username, label, pk in rows[:MOST_LISTED]:
        found.setdefault(username, []).append(label or f"key {pk}")
    users = sorted(found, key=lambda username: username != actor.username)
    return [(username, f"{username}: {', '.join(found[username])}") for username in users]


def images(actor: Actor, script: StackScript | None = None) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The images that can be deployed, with the script if there is one. The account's own come before the public
    ones, which are in groups by vendor. One query.
    """
    rows = Image.objects.visible_to(actor).filter(status=Image.Status.AVAILABLE, deprecated=False)
    ordered = rows.order_by("is_public", "vendor", "position", "pk")
    shown = [image for image in ordered if script is None or supports(script, image.pk)]
    for name, group in groupby(shown, _image_group):
        yield name, [(image.pk, image.label) for image in group]


def _image_group(image: Image) -> str:
    return (image.vendor or "Others") if image.is_public else "Your images"


def offer_regions(
    form: BodyForm,
    plan: InstanceType,
    *,
    before: Iterable[tuple[str, str]] = (),
    full: Iterable[str] = (),
    reasons: Mapping[str, str] | None = None,
    initial: str | None = None,
) -> None:
    """Offer all regions in the field ``region``, after the choices of `before`. One query.

    Regions without the `capability` are disabled with the reason, and so are those that are `full`.
    `reasons` has further reasons, by the ids of the regions.
    """
    rows = list(Region.objects.order_by("position", "pk"))
    named = ((each.pk, f"{each.pk} ({country_name(each.country)})") for each in rows)
    refusals = refusals_of_regions(rows, capability_of(plan))
    form.fields["region"].widget.reasons = {**dict.fromkeys(full, REGION_FULL), **refusals, **(reasons or {})}
    form.offer("region", [*before, *named], initial)


def firewalls(actor: Actor) -> list[tuple[Any, str]]:
    """The firewalls that can be chosen. One query."""
    rows = Firewall.objects.writable_by(actor).order_by("label").values_list("pk", "label", "status")
    disabled = Firewall.Status.DISABLED
    named = [
        (pk, f"{label} (disabled)" if status == disabled else label) for pk, label, status in rows[:MOST_LISTED]
    ]
    return [("", "None"), *named] if named else []


def scripts(
    actor: Actor, image: Image | None, chosen: StackScript | None
) -> list[tuple[str, list[Offer[StackScript]]]]:
    """The scripts of the account and the public ones, in groups. Two queries.

    Of public scripts the platform's own come first, then those that are deployed most.
    """
    rows = StackScript.objects.visible_to(actor).only("label", "username", "images")
    own = list(rows.filter(account_id=actor.account_id).order_by("label")[:MOST_LISTED])
    others = rows.exclude(account_id=actor.account_id).order_by(
        F("account_id").asc(nulls_first=True), "-deployments_total", "pk"
    )
    public = list(others[:MOST_LISTED])
    if chosen and chosen not in own and chosen not in public:
        (own if chosen.account_id == actor.account_id else public).append(chosen)
    groups = (("Your scripts", own), ("Public scripts", public))
    return [
        (name, [Offer(each, _script_refusal(each, image)) for each in group]) for name, group in groups if group
    ]


def chosen_script(actor: Actor, given: str) -> StackScript | None:
    """The script of a typed id, without its text; None if the actor sees no such script. One query."""
    if not is_id(given):
        return None
    return StackScript.objects.visible_to(actor).defer("script").filter(pk=int(given)).first()


def chosen_backup(actor: Actor, given: str) -> Backup | None:
    """The complete backup of a typed id, with its instance; None if the actor sees no such backup. One query."""
    if not is_id(given):
        return None
    seen = Backup.objects.filter(instance__in=Instance.objects.visible_to(actor).values("pk"))
    complete = seen.filter(pk=int(given), status=Backup.Status.SUCCESSFUL)
    return complete.select_related("instance").first()


def _script_refusal(script: StackScript, image: Image | None) -> str:
    return NOT_FOR_IMAGE if image and not supports(script, image.pk) else ""


def volumes_for(actor: Actor, instance: Instance) -> list[Volume]:
    """The volumes of the instance, then the free ones of its region, as far as the actor may change them.

    The second value is a sentence if there are more. Two queries.
    """
    here = Volume.objects.writable_by(actor).filter(region=instance.region_id).order_by("label", "pk")
    return [*here.filter(instance=instance), *here.filter(instance=None)[:MOST_CHOICES]]
