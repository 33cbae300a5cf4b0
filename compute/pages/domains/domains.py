"""A domain: its settings, its zone file and its events, and cloning and deleting it."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from io import BytesIO
from typing import Any, ClassVar

from django import forms
from django.forms import BoundField
from django.http import HttpRequest
from django.urls import reverse
from django.views.generic import TemplateView

from accounts.pages.objects import ObjectConfirmationPage, ObjectForm, ObjectFormPage, ObjectFormView
from accounts.services import attempts
from compute.models import Domain
from compute.pages.activity import events_about
from compute.pages.domains.base import ADDRESSES_HELP, EMAIL_HELP, DomainPage, times
from compute.pages.domains.new_domains import name_field
from compute.serializers.domains.domains import DomainCloneRequest, DomainRequest, spec_of
from compute.services.common.dns_names import DEFAULTS
from compute.services.domains import domains, zone_files
from config.display.plurals import counted
from config.errors import TooMany
from config.pages.forms import BodyForm, ChoiceField, TagsField, TextField, WordsField
from config.web.downloads import as_download
from config.web.headers import too_many

SLOW: Mapping[str, str] = {"post": "slow"}
"""The lane of pages that write thousands of rows."""
GROUPS = {
    "Domain": ("domain", "status", "description", "group", "tags"),
    "Zone": ("type", "soa_email", "master_ips", "axfr_ips"),
    "Times": ("ttl_sec", "refresh_sec", "retry_sec", "expire_sec"),
}
"""The fields of the settings by the headings of their groups."""


class SettingsForm(ObjectForm):
    body = DomainRequest
    partial = True
    blank = frozenset({"domain", "description", "group", "tags", "soa_email", "master_ips", "axfr_ips"})

    domain = name_field()
    status = ChoiceField(
        label="Status",
        choices=(("active", "Active: name servers answer"), ("disabled", "Disabled: name servers do not answer")),
    )
    description = TextField(label="Description", max_length=255)
    group = TextField(
        label="Group", max_length=50, help_text="A word to sort domains by. We recommend tags instead."
    )
    tags = TagsField()
    type = ChoiceField(
        label="Type",
        choices=(("master", "Master: the records are here"), ("slave", "Slave: copied from your name servers")),
        help_text="A slave has no records of its own. Delete the records before you make the domain a slave.",
    )
    soa_email = TextField(label="Email of the administrator", help_text=f"Required for a master. {EMAIL_HELP}")
    master_ips = WordsField(
        label="Addresses of the primary name servers", help_text=f"Required for a slave. {ADDRESSES_HELP}"
    )
    axfr_ips = WordsField(
        label="Addresses that may transfer the zone", help_text=f"If empty, no server may. {ADDRESSES_HELP}"
    )
    ttl_sec = ChoiceField(
        label="TTL of records", number=True, help_text="Other servers may cache answers for this time."
    )
    refresh_sec = ChoiceField(
        label="Refresh", number=True, help_text="Secondary servers check for changes at this interval."
    )
    retry_sec = ChoiceField(
        label="Retry", number=True, help_text="Secondary servers check again after this time if a check fails."
    )
    expire_sec = ChoiceField(
        label="Expire",
        number=True,
        help_text="Secondary servers stop answering if all checks have failed for this time.",
    )

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        for name, default in DEFAULTS.items():
            self.offer(name, times(default))

    @property
    def groups(self) -> Iterator[tuple[str, list[BoundField]]]:
        """Yield each heading with its fields."""
        for heading, names in GROUPS.items():
            yield heading, [self[name] for name in names if name in self.fields]


class SettingsView(DomainPage, ObjectFormView):
    """``/home/domains/<id>/settings``."""

    template_name = "compute/domains/settings.html"
    form_class = SettingsForm
    tab = "domain-settings"
    operations = frozenset({"domains_update"})

    def get_initial(self) -> dict[str, Any]:
        names = (name for group in GROUPS.values() for name in group if name != "domain")
        return {"domain": self.domain.spelling or self.domain.label} | {
            name: getattr(self.domain, name) for name in names
        }

    def perform(self, form: SettingsForm) -> str:
        domains.update(self.actor, self.domain, spec_of(form.given), form.given.problems)
        return "The settings were saved."


class ZoneFileView(DomainPage, TemplateView):
    """``/home/domains/<id>/zone-file``, and ``/download`` below it: the zone as name servers have it."""

    template_name = "compute/domains/zone_file.html"
    tab = "domain-zone-file"
    lanes: ClassVar[Mapping[str, str]] = {"get": "slow"}
    download: bool = False
    """Whether the answer is the file itself."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        try:
            with attempts.measured_with_api(self.actor.account_id):
                zone = "\n".join(zone_files.lines(self.domain)) + "\n"
        except TooMany as error:
            page = self.render_to_response(self.get_context_data(refusal=str(error)))
            return too_many(page, error.seconds)
        if not self.download:
            return self.render_to_response(self.get_context_data(zone=zone))
        return as_download(BytesIO(zone.encode()), f"{self.domain.label}.zone", "text/dns; charset=utf-8")


class ActivityView(DomainPage, TemplateView):
    """``/home/domains/<id>/activity``: the events of the domain. Messages of imports list what was left out."""

    template_name = "compute/domains/activity.html"
    tab = "domain-activity"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        events = events_about(self.actor, "domain", self.domain.pk, self.request.GET.get("page"))
        return super().get_context_data(**events, **kwargs)


class CloneForm(BodyForm):
    body = DomainCloneRequest
    domain = name_field()


class CloneView(DomainPage, ObjectFormPage):
    """``/home/domains/<id>/clone``."""

    lanes: ClassVar[Mapping[str, str]] = SLOW
    form_class = CloneForm
    operations = frozenset({"domains_clone"})
    expensive = True
    heading = "Clone {page.object}"
    introduction = "Creates another domain with the settings, the records and the tags of {page.object}."
    verb = "Clone"
    made: Domain

    def perform(self, form: CloneForm) -> str:
        self.made = domains.clone(self.actor, self.domain, form.checked()["domain"])
        return f"The domain {self.domain} was cloned into {self.made}."

    def get_success_url(self) -> str:
        return reverse("domain", args=[self.made.pk])

    def back_address(self) -> str:
        return self.address("domain")


class DeleteView(DomainPage, ObjectConfirmationPage):
    """``/home/domains/<id>/delete``: shows how many records are deleted with the domain."""

    lanes: ClassVar[Mapping[str, str]] = SLOW
    operations = frozenset({"domains_destroy"})
    expensive = True
    heading = "Delete {page.object}"
    introduction = (
        "Deletes the domain with its {page.records}. Name servers stop answering for it. This cannot be undone."
    )
    verb = "Delete domain"

    @cached_property
    def records(self) -> str:
        return counted(self.domain.records.count(), "record")

    def perform(self, form: forms.Form) -> str:
        domains.delete(self.actor, self.domain)
        return f"The domain {self.domain} was deleted."

    def get_success_url(self) -> str:
        return reverse("domains")

    def back_address(self) -> str:
        return self.address("domain")
