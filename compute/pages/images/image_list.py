"""The lists of images: those of the account, and the public ones of the platform."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.db.models.functions import Lower
from django.urls import reverse

from accounts.actors import Actor
from accounts.models import Event
from accounts.pages.live_pages import LiveListPage
from accounts.pages.objects import Tab
from compute.filters.images import OwnImageListFilterSet, PublicImageListFilterSet
from compute.models import Image
from compute.pages.images.progress import events_of
from compute.services.instances.offers import readiness_refusal
from config.pages.lists import Column, Row, Verb

LISTS = (("images", "Your images"), ("images-public", "Public images"))


def deploy_verb(actor: Actor, image: Image) -> tuple[Verb, ...]:
    """The verb that opens the form for a new instance with this image, for users who may create instances."""
    if not actor.may("add_computes"):
        return ()
    address = f"{reverse('instance-new')}?{urlencode({'image': image.pk})}"
    return (Verb("Create instance", address, readiness_refusal(image)),)


def own_verbs(actor: Actor, image: Image) -> tuple[Verb, ...]:
    """The verbs for an image that the user may change."""

    def verb(label: str, page: str) -> Verb:
        return Verb(label, reverse(page, args=[image.pk]))

    waits = image.status == Image.Status.PENDING_UPLOAD and actor.may("add_images")
    upload = (verb("Upload file", "image-send"),) if waits else ()
    return (*upload, verb("Edit", "image-edit"), verb("Delete", "image-delete"))


@dataclass(frozen=True, slots=True)
class ImageRow(Row):
    """An image, with the verbs that the user may take. `event` is that of the job that makes the image."""

    event: Event | None = None

    @property
    def values(self) -> tuple[Any, ...]:
        """The values of the image that change."""
        shown: Image = self.object
        progress = self.event and self.event.percent_complete
        return shown.pk, shown.status, shown.label, shown.size, self.verbs, progress


class ImagesView(LiveListPage):
    """``/home/images``: the account's own images, as far as the user may see them. The rows update themselves."""

    template_name = "compute/images.html"
    part_template = "compute/images_rows.html"
    model = Image
    noun = "images"
    current: ClassVar[str] = "images"
    filterset_class: type[Any] = OwnImageListFilterSet
    columns = (
        Column("Label", "label", Lower("label")),
        Column("Status", "status"),
        Column("Size", "size"),
        Column("Created", "created"),
        Column("Expires", "expiry"),
        Column(""),
    )

    def get_queryset(self) -> QuerySet[Image]:
        return super().get_queryset().filter(is_public=False)

    def verbs_of(self, found: Image) -> tuple[Verb, ...]:
        return own_verbs(self.actor, found)

    def rows(self, shown: list[Image]) -> list[ImageRow]:  # type: ignore[override] # a list of a subclass
        events = events_of(shown)
        return [
            ImageRow(row.object, (*deploy_verb(self.actor, row.object), *row.verbs), events.get(row.object.number))
            for row in super().rows(shown)
        ]

    def values_of(self, rows: Iterable[ImageRow]) -> Iterable[Any]:
        return (row.values for row in rows)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        return {
            **context,
            "unsettled": any(row.object.status != Image.Status.AVAILABLE for row in context["rows"]),
            "lists": [Tab(label, reverse(page), page == self.current) for page, label in LISTS],
            "own": self.current == "images",
            "may_create": self.actor.may("add_images"),
        }


class PublicImagesView(ImagesView):
    """``/home/images/public``: the images of the platform."""

    current = "images-public"
    filterset_class = PublicImageListFilterSet
    columns = (
        Column("Label", "label", Lower("label")),
        Column("Vendor", "vendor"),
        Column("Size", "size"),
        Column("Created", "created"),
        Column("Updates until", "eol"),
        Column(""),
    )

    def get_queryset(self) -> QuerySet[Image]:
        return Image.objects.visible_to(self.actor).filter(is_public=True)

    def writable(self, shown: list[Any]) -> Collection[int]:
        return ()
