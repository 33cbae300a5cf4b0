"""The base of the pages of one volume, and volumes with what the user may do with them now."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.urls import reverse

from accounts.actors import Actor
from accounts.models import Event
from accounts.pages.objects import ObjectFormPage, ObjectPage
from compute.models import Instance, Volume
from compute.services.volumes.availability import busy_instances, jobs_of, refusals
from config.pages.lists import Verb


@dataclass(frozen=True, slots=True)
class VolumeRow:
    """A volume and what the user may do with it. `linked` tells whether the user may see its instance.

    `busy` and `instance_busy` tell whether a job works on the volume and on its instance.
    """

    object: Volume
    busy: bool
    instance_busy: bool
    event: Event | None
    linked: bool
    may_add: bool
    may_change: bool
    may_detach: bool
    """Whether the user may change the volume's instance."""

    @property
    def unsettled(self) -> bool:
        """Whether a job can change the row soon: the volume's own, or one of its instance."""
        return self.busy or self.instance_busy

    @property
    def verbs(self) -> tuple[Verb, ...]:
        """The verbs that the user may take, with the reasons why some are unavailable."""
        reasons = refusals(self.object, busy=self.busy, instance_busy=self.instance_busy)
        return tuple(
            Verb(label, reverse(f"volume-{action}", args=[self.object.pk]), reasons.get(action, ""))
            for label, action in self._offered()
        )

    @property
    def values(self) -> tuple[Any, ...]:
        """The values of the volume that change, and those that its verbs depend on."""
        shown = self.object
        event = self.event and (self.event.pk, self.event.percent_complete)
        instance = shown.instance and (shown.instance.pk, shown.instance.label, shown.instance.status)
        facts = shown.pk, shown.label, shown.status, shown.size, shown.tags, shown.region.refusal(), instance
        permissions = self.linked, self.may_add, self.may_change, self.may_detach
        return facts, permissions, self.busy, self.instance_busy, event

    def _offered(self) -> Iterator[tuple[str, str]]:
        """Yield the labels and names of the actions that the user has."""
        attached = self.object.instance_id is not None
        if self.may_change and not attached:
            yield "Attach", "attach"
        elif self.may_change and self.may_detach:
            yield "Detach", "detach"
        if self.may_change:
            yield "Resize", "resize"
        if self.may_add:
            yield "Clone", "clone"
        if self.may_change:
            yield "Edit", "edit"
        if self.may_change and (self.may_detach or not attached):
            yield "Delete", "delete"


class VolumePage(ObjectPage):
    """A page of one volume that the user may see."""

    model = Volume
    noun = "volumes"
    home = "volume"

    def get_queryset(self) -> QuerySet[Volume]:
        return Volume.objects.visible_to(self.actor).select_related("region", "instance")

    @property
    def volume(self) -> Volume:
        found: Volume = self.object
        return found


class VolumeFormPage(VolumePage, ObjectFormPage):
    """A page with one form about a volume. While its action is unavailable, the page shows the reason."""

    action: ClassVar[str] = ""
    """The action that the page takes, of `refusals`; empty for one that is always available."""

    def unavailable(self) -> str:
        if not self.action:
            return ""
        busy, instance_busy = bool(jobs_of([self.volume])), bool(busy_instances([self.volume]))
        return refusals(self.volume, busy=busy, instance_busy=instance_busy)[self.action]


def rows_of(actor: Actor, volumes: Collection[Volume]) -> list[VolumeRow]:
    """Return volumes that were read with their instances and regions. Two queries, five for a restricted user."""
    jobs, busy = jobs_of(volumes), busy_instances(volumes)
    attached = {volume.instance_id for volume in volumes if volume.instance_id is not None}
    seen, writable_instances = _access(actor, attached)
    writable = Volume.objects.writable_keys(actor, [volume.pk for volume in volumes])

    def row(volume: Volume) -> VolumeRow:
        job = jobs.get(volume.pk)
        return VolumeRow(
            volume,
            busy=job is not None,
            instance_busy=volume.instance_id in busy,
            event=None if job is None else job.event,
            linked=volume.instance_id in seen,
            may_add=actor.may("add_volumes"),
            may_change=volume.pk in writable,
            may_detach=volume.instance_id in writable_instances,
        )

    return [row(volume) for volume in volumes]


def _access(actor: Actor, attached: Collection[int]) -> tuple[Collection[int], Collection[int]]:
    """Return the instances that the actor may see, and those that the actor may change, of the attached ones."""
    if not actor.restricted:
        return attached, attached
    seen = set(Instance.objects.visible_to(actor).filter(pk__in=attached).values_list("pk", flat=True))
    return seen, Instance.objects.writable_keys(actor, seen)
