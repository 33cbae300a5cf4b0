"""Choices that several forms offer: SSH keys of users, images, scripts, backups, firewalls, volumes and regions."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias, TypeVar

from django.db.models import Case, F, Model, QuerySet, When

from accounts.actors import Actor
from accounts.models import SSHKey
from compute.models import Backup, Firewall, Image, Instance, InstanceType, StackScript, Volume
from compute.services.common.regions import refusals_of_regions
from compute.services.hosts.placement import REGION_FULL
from compute.services.instances.offers import Offer
from compute.services.stackscripts.stackscripts import NOT_FOR_IMAGE, supports
from config.display.integers import is_id
from config.pages.forms import BodyForm
from regions.countries import country_name
from regions.models import Region

TYPE_CLASSES = {
    "Shared processors": {"nanode", "standard"},
    "Dedicated processors": {"dedicated"},
    "High memory": {"highmem"},
    "Graphics processors": {"gpu"},
    "Bare metal": {"metal"},
}
"""The groups of types, by their classes."""
MAX_LISTED = 100
"""Scripts, firewalls and SSH keys that are listed of each kind."""
MAX_CHOICES = 500
"""Instances, volumes and addresses of an account that a select lists. The page says so if there are more."""

T = TypeVar("T")
Row = TypeVar("Row", bound=Model)
Choice: TypeAlias = tuple[Any, str]
ScriptGroups: TypeAlias = list[tuple[str, list[Offer[StackScript]]]]
MORE_VOLUMES = f"The first {MAX_CHOICES} free volumes by label are listed. Attach others on the page of the volume."
MORE_KEYS = f"Only {MAX_LISTED} keys are listed. Paste any other key into the field Other SSH keys."
MORE_OF_SCRIPTS = f"At most {MAX_LISTED} of your scripts and {MAX_LISTED} public scripts are listed. "


class Users(NamedTuple):
    """Usernames with the labels of their SSH keys, as choices. `more` is a sentence if there are others."""

    choices: list[tuple[str, str]]
    more: str


def first_rows(rows: QuerySet[Row], wanted: Iterable[Any] = (), most: int | None = None) -> tuple[list[Row], str]:
    """Return the first rows and, if there are more, a sentence that says so. The sentence is empty otherwise.

    `most` is the number of rows, by default `MAX_CHOICES`.

    Rows with a primary key of `wanted` are always among them. One query. If there are more rows and a wanted key,
    a second query.
    """
    most = most or MAX_CHOICES
    found = list(rows[: most + 1])
    if len(found) <= most:
        return found, ""
    shown = found[:most]
    keys = [int(text) for text in map(str, wanted) if is_id(text)]
    chosen = rows.filter(pk__in=keys) if keys else ()
    sentence = f"These are the first {most} by label. For others, use the API."
    return [*shown, *(row for row in chosen if row not in shown)], sentence


def offer_rows(
    form: BodyForm,
    name: str,
    rows: QuerySet[Row],
    choice_of: Callable[[Row], Choice],
    *before: Choice,
    most: int | None = None,
) -> list[Row]:
    """Offer the first of the rows in the field `name`, after the choices of `before`. Return the offered rows.

    The row of the field's value is always among them. If there are more rows, the help text says so. Queries as in
    `first_rows`.
    """
    field = form.fields[name]
    # not `form[name].value()`, which would keep the help text as it is now
    value = (
        field.widget.value_from_datadict(form.data, form.files, form.add_prefix(name))
        if form.is_bound
        else form.get_initial_for_field(field, name)
    )
    offered, sentence = first_rows(rows, value if isinstance(value, list) else [value], most)
    field.help_text = f"{field.help_text} {sentence}".strip()
    form.offer(name, [*before, *map(choice_of, offered)], field.initial)
    return offered


def with_region(instance: Instance) -> Choice:
    return instance.pk, f"{instance.label}, {instance.region_id}"


def by_class(rows: Iterable[T], type_of: Callable[[T], InstanceType]) -> Iterator[tuple[str, list[T]]]:
    """Return the groups of types that have rows. `type_of` returns the type of a row."""
    rows = list(rows)
    for name, classes in TYPE_CLASSES.items():
        found = [row for row in rows if type_of(row).type_class in classes]
        if found:
            yield name, found


def users_with_keys(actor: Actor) -> Users:
    """The users whose SSH keys can be chosen, with the labels of `MAX_LISTED` keys: the actor before the others.

    Restricted users choose their own keys alone, because they do not see other users. One query.
    """
    keys = SSHKey.objects.filter(user__account_id=actor.account_id, user__is_active=True)
    if actor.restricted:
        keys = keys.filter(user_id=actor.person)
    own_first = Case(When(user_id=actor.person, then=0), default=1)
    ordered = keys.order_by(own_first, "user__username", "pk").values_list("user__username", "label", "pk")
    rows = list(ordered[: MAX_LISTED + 1])
    found: dict[str, list[str]] = {}
    for username, label, pk in rows[:MAX_LISTED]:
        found.setdefault(username, []).append(label or f"key {pk}")
    choices = [(username, f"{username}: {', '.join(labels)}") for username, labels in found.items()]
    return Users(choices, MORE_KEYS if len(rows) > MAX_LISTED else "")


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
    capability: str | None,
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
    refusals = refusals_of_regions(rows, capability)
    form.fields["region"].widget.reasons = {**dict.fromkeys(full, REGION_FULL), **refusals, **(reasons or {})}
    form.offer("region", [*before, *named], initial)


def offer_places(form: BodyForm) -> None:
    """Offer all regions in the field ``region``, for what needs no capability. One query.

    Regions that accept nothing new are disabled with the reason. The first of the others is the initial choice.
    """
    offer_regions(form, None)
    field: Any = form.fields["region"]
    field.initial = next((pk for pk, _ in field.choices if pk not in field.widget.reasons), None)


def offer_firewalls(form: BodyForm, name: str, actor: Actor) -> None:
    """Offer the firewalls that can be chosen in the field `name`, which has no choices if there are none.

    Queries as in `first_rows`.
    """
    rows = Firewall.objects.writable_by(actor).only("label", "status").order_by("label", "pk")
    if not offer_rows(form, name, rows, _firewall_choice, ("", "None"), most=MAX_LISTED):
        form.offer(name, [])


def _firewall_choice(firewall: Firewall) -> Choice:
    is_disabled = firewall.status == Firewall.Status.DISABLED
    return firewall.pk, f"{firewall.label} (disabled)" if is_disabled else firewall.label


def scripts(actor: Actor, image: Image | None, chosen: StackScript | None) -> tuple[ScriptGroups, str]:
    """The scripts of the account and the public ones, in groups, and a sentence if there are more. Two queries.

    Of public scripts the platform's own come first, then those that are deployed most.
    """
    rows = StackScript.objects.visible_to(actor).only("label", "username", "images")
    own, more_own = first_rows(rows.filter(account_id=actor.account_id).order_by("label", "pk"), most=MAX_LISTED)
    others = rows.exclude(account_id=actor.account_id).order_by(
        F("account_id").asc(nulls_first=True), "-deployments_total", "pk"
    )
    public, more_public = first_rows(others, most=MAX_LISTED)
    if chosen and chosen not in own and chosen not in public:
        (own if chosen.account_id == actor.account_id else public).append(chosen)
    groups = (("Your scripts", own), ("Public scripts", public))
    offers = [
        (name, [Offer(each, _script_refusal(each, image)) for each in group]) for name, group in groups if group
    ]
    return offers, MORE_OF_SCRIPTS if more_own or more_public else ""


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


def volumes_for(actor: Actor, instance: Instance) -> tuple[list[Volume], str]:
    """The volumes of the instance, then the free ones of its region, as far as the actor may change them.

    The second value is a sentence if there are more. Two queries.
    """
    here = Volume.objects.writable_by(actor).filter(region=instance.region_id).order_by("label", "pk")
    free, more = first_rows(here.filter(instance=None))
    return [*here.filter(instance=instance), *free], MORE_VOLUMES if more else ""
