"""The forms of a service: a new one, and a changed one."""

from typing import Any

from django import forms
from django.urls import reverse

from accounts.actors import Actor
from accounts.pages.objects import NewObjectForm, ObjectForm, ObjectFormPage
from config.pages.forms import BodyForm, ChoiceField, ListField, NumberField, TextField
from managed.models import Contact, Credential, Service
from managed.pages.base import NewManagedPage
from managed.pages.services import ServicePage
from managed.serializers.services import ServiceWish, spec_of
from managed.services import services
from regions.countries import country_name
from regions.models import Region

INITIAL_TIMEOUT = 10
COLUMNS = ("label", "service_type", "address", "timeout", "body", "consultation_group", "notes")


class ServiceForm(BodyForm):
    """The fields of both forms. Subclasses call `offer_choices`."""

    body = ServiceWish
    label = TextField(label="Label", help_text="3 to 64 characters.")
    service_type = ChoiceField(
        label="Type",
        choices=(
            ("url", "URL: the answer to a request must have a status below 400"),
            ("tcp", "TCP: a connection must succeed"),
        ),
    )
    address = TextField(
        label="Address",
        help_text="A URL such as https://www.example.com/, or for TCP a host and a port: host:port.",
    )
    timeout = NumberField(label="Timeout in seconds", help_text="1 to 255. A check that takes longer has failed.")
    # The form's own `body` is the serializer, so `offer_choices` adds the field of that name.
    consultation_group = ChoiceField(
        label="Group of contacts", help_text="These contacts get a mail when the service fails."
    )
    region = ChoiceField(label="Region", help_text="Only for a private address: the region that the address is in.")
    credentials = ListField(label="Credentials", number=True, help_text="Staff may use them to repair the service.")
    notes = TextField(
        label="Notes for staff", help_text="For example how to restart the service.",
        widget=forms.Textarea(attrs={"rows": 4}),
    )  # fmt: skip

    field_order = (*COLUMNS[:5], "consultation_group", "region", "credentials", "notes")

    def offer_choices(self, actor: Actor, group: str = "") -> None:
        """Offer groups, regions and credentials, and add the field ``body``. Three queries.

        `group` is the present group, which may have no contacts any more.
        """
        self.fields["body"] = TextField(
            label="Text in the answer", strip=False,
            help_text="For a URL: the answer must contain this text. Empty: any answer.",
        )  # fmt: skip
        self.order_fields(self.field_order)
        present = Contact.objects.visible_to(actor).order_by().values_list("group", flat=True).distinct()
        groups = {name for name in (*present, group) if name}
        self.offer(
            "consultation_group", [("", "the contacts without a group"), *((each, each) for each in sorted(groups))]
        )
        regions = Region.objects.order_by("position", "pk")
        named = ((each.pk, f"{each.pk} ({country_name(each.country)})") for each in regions)
        self.offer("region", [("", "none: a public address"), *named])
        found = Credential.objects.visible_to(actor).order_by("label", "pk")
        self.offer("credentials", found.values_list("pk", "label"))

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        notes = (values.get("notes") or "").replace("\r\n", "\n")  # browsers send the line ends of Windows
        return {**values, "region": values.get("region") or None, "notes": notes or None}

    def is_sent(self, name: str, value: Any) -> bool:
        return True


class NewServiceForm(ServiceForm, NewObjectForm):
    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.offer_choices(self.actor)


class NewServiceView(NewManagedPage):
    """``/home/monitoring/new``."""

    operations = frozenset({"managed_services_create"})
    form_class = NewServiceForm
    heading = "Add a service"
    introduction = "The platform checks the service once a minute. Two failures in a row open an issue."
    verb = "Add service"
    initial = {"timeout": INITIAL_TIMEOUT}
    made: Service

    def perform(self, form: NewServiceForm) -> str:
        self.made = services.create(self.actor, spec_of(form.given), form.given.problems)
        return f"The service {self.made} was added."

    def get_success_url(self) -> str:
        return reverse("monitoring-service", args=[self.made.pk])


class EditServiceForm(ServiceForm, ObjectForm):
    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.offer_choices(self.actor, self.object.consultation_group)


class EditServiceView(ServicePage, ObjectFormPage):
    """``/home/monitoring/<id>/edit``."""

    operations = frozenset({"managed_services_update"})
    form_class = EditServiceForm
    heading = "Edit {page.object}"
    introduction = "If you change the check, the service is pending until its next check."
    verb = "Save"

    def get_initial(self) -> dict[str, Any]:
        service = self.object
        credentials = list(service.credentials.values_list("pk", flat=True))
        return {name: getattr(service, name) for name in COLUMNS} | {
            "region": service.region_id or "",
            "credentials": credentials,
        }

    def perform(self, form: EditServiceForm) -> str:
        given = form.given
        services.update(self.actor, self.object, spec_of(given), given.problems)
        return f"The service {given.get('label', self.object.label)} was saved."
