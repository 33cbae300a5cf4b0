"""Uploading an image: a form for the new image, then the page that sends its file."""

from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.generic import TemplateView

from accounts.pages.confirm import Confirmed
from accounts.pages.objects import NewObjectForm, NewObjectPage, ObjectFormPage
from compute.models import Image
from compute.pages.choices import offer_places
from compute.pages.images.from_disk import storage_of
from compute.pages.images.one_image import ImagePage
from compute.serializers.images import ImageUpload
from compute.services.images import images, unpacking, uploads
from config.display.quantities import size
from config.errors import Invalid
from config.pages.forms import ChoiceField, SelectWithReasons, TextField
from config.pages.policies import POLICY_OF_PAGES

MEGABYTE = 1024**2


class UploadForm(NewObjectForm):
    body = ImageUpload
    label = TextField(label="Label", help_text="Up to 50 characters.")
    region = ChoiceField(
        label="Region", widget=SelectWithReasons,
        help_text="The region that receives the file. You can deploy the image in all regions.",
    )  # fmt: skip
    description = TextField(label="Description", widget=forms.Textarea(attrs={"rows": 3}))

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        offer_places(self)


class UploadImageView(NewObjectPage):
    """``/home/images/upload``: a new image that waits for its file. The next page sends the file."""

    template_name = "compute/image_upload.html"
    form_class = UploadForm
    noun = "images"
    operations = frozenset({"images_upload"})
    grant = "add_images"
    heading = "Upload an image"
    introduction = "Enter a label and a region first. You upload the file on the next page."
    verb = "Continue"
    made: Image | None = None

    def unavailable(self) -> str:
        return images.refusals_of_new(self.actor.account_id, [1])[0]

    def perform(self, form: UploadForm) -> str:
        given = form.given
        fields = {name: given.get(name) for name in ("label", "description", "region")}
        self.made = images.begin_upload(self.actor, **fields, problems=given.problems)
        return ""

    def get_success_url(self) -> str:
        return reverse("image-send", args=[self.made.pk]) if self.made else super().get_success_url()

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(row=storage_of(self.actor), **kwargs)


class WaitingImagePage(ImagePage):
    """A page of an image that waits for its file. If the image waits no more, its page opens."""

    operations = frozenset({"images_upload"})
    grant = "add_images"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if self.image.status != Image.Status.PENDING_UPLOAD:
            return redirect(self.address("image"))
        response: HttpResponse = super().get(request, *args, **kwargs)  # type: ignore[misc] # of the other base
        return response

    def upload_to(self, *, for_browser: bool = False) -> str:
        """Return a new address that accepts the file once (`uploads.sign`)."""
        site = f"{self.request.scheme}://{self.request.get_host()}"
        return uploads.address_for(self.image, site, for_browser=for_browser)


class SendFileView(WaitingImagePage, TemplateView):
    """``/home/images/<id>/upload``: sends the file of an image that waits for it.

    Before each attempt, the page's script gets a new address by POST, and sends the file there. The page does not
    ask for the password, so the address must be used within two minutes. The file does not pass through the session
    or a form. If the image waits no more, the answer has no address.
    """

    template_name = "compute/image_send.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        response = super().dispatch(request, *args, **kwargs)
        if settings.STREAM_URL:
            policy = f"{POLICY_OF_PAGES} {settings.STREAM_URL}"  # connect-src comes last
            response["Content-Security-Policy"] = policy
        return response

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        waits = self.image.status == Image.Status.PENDING_UPLOAD
        return JsonResponse({"upload_to": self.upload_to(for_browser=True) if waits else None})

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(
            image=self.image,
            command_page=self.address("image-send-command"),
            next_page=self.address("image"),
            most=settings.UPLOAD_LIMIT,
            most_text=size(settings.UPLOAD_LIMIT // MEGABYTE),
            most_raw=size(settings.UPLOAD_LIMIT_RAW // MEGABYTE),
            too_large=unpacking.too_large("compressed", settings.UPLOAD_LIMIT),
            broken=unpacking.BROKEN,
            row=storage_of(self.actor),
            **kwargs,
        )


class CommandView(WaitingImagePage, ObjectFormPage, Confirmed):
    """``/home/images/<id>/upload/command``: shows a command that uploads the file from a terminal.

    The command contains an address that works without signing in, so the page asks for the password again.
    """

    template_name = "compute/image_command.html"
    form_class = forms.Form
    heading = "Upload the file of {page.object} with a command"
    introduction = (
        "The command contains an address that accepts the file once, until 24 hours after the image was created. "
        "Anyone who has the address can upload the file, so keep it secret."
    )
    verb = "Create command"
    curl = ""

    def unavailable(self) -> str:
        return "" if self.image.status == Image.Status.PENDING_UPLOAD else uploads.USED

    def perform(self, form: forms.Form) -> str:
        if reason := self.unavailable():
            raise Invalid(reason)
        self.curl = f"curl -T disk.img.gz '{self.upload_to()}'"
        return ""

    def form_valid(self, form: forms.Form) -> HttpResponse:
        """Show the command on the same page: no later page may show it again."""
        answer = super().form_valid(form)
        return self.render_to_response(self.get_context_data(form=form, curl=self.curl)) if self.curl else answer

    def back_address(self) -> str:
        return self.address("image-send")
