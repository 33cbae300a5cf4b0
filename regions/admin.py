"""Regions: where services are offered."""

from ipaddress import ip_address
from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from config.admin.pages import Page
from config.admin.roles import OPERATOR, allow
from config.admin.tasks import Task
from config.admin.value_formats import tags
from config.display.statuses import BAD, GOOD, QUIET, pill
from regions.models import CAPABILITIES, Region

allow(OPERATOR, Region, to="add change")


class RegionForm(forms.ModelForm):
    """A form in which staff choose capabilities instead of typing them: a misspelt one would be offered to
    nobody.
    """

    capabilities = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=(
            "The kinds of object that customers can create in the region. Customers see the list. If none is"
            " ticked,"
            " they can create nothing."
        ),
    )

    class Meta:
        model = Region
        fields = (
            "id", "country", "status", "retired", "capabilities", "resolvers_ipv4", "resolvers_ipv6", "position",
        )  # fmt: skip
        labels: ClassVar[dict[str, str]] = {
            "resolvers_ipv4": "IPv4 addresses of resolvers",
            "resolvers_ipv6": "IPv6 addresses of resolvers",
        }
        help_texts: ClassVar[dict[str, str]] = {
            "id": "Such as no-osl. Lower-case letters, digits and hyphens. Clients use it, and it cannot change"
            " later.",
            "country": "Two letters of ISO 3166, such as no.",
            "status": "outage: all customers with objects in the region read a notice. It changes nothing else.",
            "retired": (
                "If ticked, nobody can create instances, volumes or load balancers here, and no instance can move"
                " here. Objects that exist keep working."
            ),
            "resolvers_ipv4": "The name servers for instances, such as 192.0.2.1,192.0.2.2. It may be empty.",
            "resolvers_ipv6": "The name servers for instances, such as 2001:db8::1,2001:db8::2. It may be empty.",
            "position": (
                "The place in lists, such as 25. The smallest number comes first. The regions of the catalogue have"
                " 10, 20, 30 and so on."
            ),
        }

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        # Capabilities that staff typed in an earlier release are offered too, so that saving the page keeps them.
        own = [name for name in self.instance.capabilities if name not in CAPABILITIES]
        field = cast(forms.MultipleChoiceField, self.fields["capabilities"])
        field.choices = [(name, name) for name in (*CAPABILITIES, *own)]

    def clean_country(self) -> str:
        country = self.cleaned_data["country"].lower()
        if not (len(country) == 2 and country.isascii() and country.isalpha()):
            raise forms.ValidationError("Type two letters of ISO 3166, such as no.")
        return country

    def clean_resolvers_ipv4(self) -> str:
        return _addresses(self.cleaned_data["resolvers_ipv4"], 4)

    def clean_resolvers_ipv6(self) -> str:
        return _addresses(self.cleaned_data["resolvers_ipv6"], 6)


def _addresses(text: str, version: int) -> str:
    """Return comma-separated addresses, each in its canonical form."""
    found = []
    for each in filter(None, map(str.strip, text.split(","))):
        try:
            address = ip_address(each)
        except ValueError as error:
            raise forms.ValidationError(f"{each} is not an address.") from error
        if address.version != version:
            raise forms.ValidationError(f"{each} is not an address of IPv{version}.")
        found.append(str(address))
    return ",".join(found)


@admin.register(Region)
class RegionPage(Page):
    task = Task.CATALOGUE
    form = RegionForm
    list_display = ("id", "country", "state", "takes_new", "offers")
    list_filter = ("status", "retired", "country")
    search_fields = ("^id",)
    fixed = ("id",)
    fieldsets = (
        (None, {"fields": ("id", "country", "status", "retired", "capabilities", "position")}),
        ("Resolvers", {"fields": ("resolvers_ipv4", "resolvers_ipv6")}),
    )

    def has_delete_permission(self, request: HttpRequest, obj: Region | None = None) -> bool:
        """Refuse deletion: the region's address pools would be deleted too, and clients know the region by its
        id.
        """
        return False

    @admin.display(description="Status")
    def state(self, region: Region) -> SafeString:
        return pill(region.status, GOOD if region.status == Region.Status.OK else BAD)

    @admin.display(description="New objects")
    def takes_new(self, region: Region) -> SafeString:
        return pill("retired", QUIET) if region.retired else pill("accepted", GOOD)

    @admin.display(description="Offers")
    def offers(self, region: Region) -> SafeString:
        return tags(region.capabilities)
