"""One image: its page, which updates itself, and editing and deleting it."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from django import forms
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounts.entities import key_of_slug
from accounts.models import Event
from accounts.pages.live_pages import LiveObjectPage
from accounts.pages.objects import ObjectConfirmationPage, ObjectForm, ObjectFormPage, ObjectPage
from compute.models import Image
from compute.pages.activity import newest_events
from compute.pages.images.image_list import deploy_verb, own_verbs
from compute.pages.images.progress import events_of
from compute.serializers.images import ImageUpdate
from compute.services.images import images
from config.display.integers import is_id
from config.pages.forms import TextField
from config.pages.views import JobMessage


class ImagePage(ObjectPage):
    """A page of one image that the user may see. Nobody can change an image of the platform."""

    model = Image
    noun = "images"
    home = "image"

    @property
    def image(self) -> Image:
        found: Image = self.object
        return found

    @cached_property
    def may_change(self) -> bool:
        if self.image.is_public:
            return False
        return not self.actor.restricted or Image.objects.writable_by(self.actor).filter(pk=self.image.pk).exists()


class ImageView(ImagePage, LiveObjectPage):
    """``/home/images/<id>``: an image of the account or of the platform. If it is gone, the part says why."""

    template_name = "compute/image.html"
    part_template = "compute/image_part.html"
    tab = "image"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().get(request, *args, **kwargs)
        except Http404:
            failed = self.failed()
            if failed is None:
                raise
            return render(request, "compute/image_failed.html", {"failed": failed}, status=404)

    def part_of_gone(self) -> HttpResponse:
        return render(self.request, "compute/image_gone.html", {"failed": self.failed()})

    def failed(self) -> Event | None:
        """Return the event that failed to make this image. The part on the page names the event.

        Without it, return the newest event that failed to upload the image: the page opens after the file is sent.
        """
        pk, slug = self.request.GET.get("event", ""), self.kwargs["pk"]
        if not is_id(pk):
            named = key_of_slug(slug)
            if named is None:
                return None
            of_image = Event.objects.visible_to(self.actor).filter(entity_type="image", entity_id=named[1])
            return of_image.filter(status=Event.Status.FAILED).order_by("-pk").first()
        entity = Q(entity_type="image", entity_url=f"/v4/images/{slug}")
        about = entity | Q(secondary_type="image", secondary_id=slug)
        return Event.objects.visible_to(self.actor).filter(about, pk=int(pk), status=Event.Status.FAILED).first()

    def shown(self) -> dict[str, Any]:
        image = self.image
        if image.number is None or image.is_public:
            events: dict[str, Any] = {"events": [], "events_seen": ""}
        else:
            events = newest_events(self.actor, "image", image.number)
        maker = events_of([image]).get(image.number or 0)
        scheduled = (event for event in events["events"] if event.status == Event.Status.SCHEDULED)
        return {
            "image": image,
            "deploy": next(iter(deploy_verb(self.actor, image)), None),
            "verbs": own_verbs(self.actor, image) if self.may_change else (),
            "maker": maker,
            "under_way": maker or next(scheduled, None),
            **events,
        }

    def values_of(self, shown: dict[str, Any]) -> Iterable[Any]:
        image, maker = self.image, shown["maker"]
        yield image.status, image.label, image.description, image.size
        yield shown["verbs"], shown["deploy"], shown["events_seen"], maker and maker.percent_complete


class EditImageForm(ObjectForm):
    body = ImageUpdate
    partial = True
    blank = frozenset({"label", "description"})
    label = TextField(label="Label", help_text="Up to 50 characters.")
    description = TextField(label="Description", widget=forms.Textarea(attrs={"rows": 3}))


class EditImageView(ImagePage, ObjectFormPage):
    """``/home/images/<id>/edit``: label and description."""

    form_class = EditImageForm
    operations = frozenset({"images_update"})
    heading = "Edit {page.object}"
    verb = "Save"

    def get_initial(self) -> dict[str, Any]:
        return {"label": self.image.label, "description": self.image.description}

    def perform(self, form: EditImageForm) -> str:
        changed = images.update(self.actor, self.image, form.checked())
        return f"The image {changed} was saved."


class DeleteImageView(ImagePage, ObjectConfirmationPage):
    """``/home/images/<id>/delete``."""

    operations = frozenset({"images_destroy"})
    heading = "Delete {page.object}"
    introduction = "Instances and disks that were deployed from the image stay. This cannot be undone."
    verb = "Delete image"

    def perform(self, form: forms.Form) -> str:
        waits = self.image.status == Image.Status.PENDING_UPLOAD
        images.delete(self.actor, self.image)
        if waits:
            return f"The image {self.image} was deleted."
        return JobMessage(f"The image {self.image} is being deleted.")

    def get_success_url(self) -> str:
        return reverse("images")

    def back_address(self) -> str:
        return self.address("image")
