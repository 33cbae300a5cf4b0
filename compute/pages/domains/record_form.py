"""The form of a record: the fields of each type."""

from dataclasses import dataclass
from typing import Any

from django import forms

from compute.models import Domain, DomainRecord
from compute.pages.domains.base import times, ttl_of
from compute.serializers.domains.records import RecordRequest
from compute.services.domains import records
from config.pages.forms import BodyForm, ChoiceField, NumberField, TextField

Type = DomainRecord.Type
PLAIN = {"autocomplete": "off", "spellcheck": "false"}
HOST_HELP = "The full name of a host, such as web.example.net."
FIELDS = ("name", "service", "protocol", "priority", "weight", "port", "tag", "target", "ttl_sec")
"""The fields of all types, in the order of the form."""


@dataclass(frozen=True, slots=True)
class TypeFields:
    """The fields that a type has besides name, value and TTL, and the label and help text of its value."""

    label: str
    help_text: str
    others: tuple[str, ...] = ()


FIELDS_OF_TYPE: dict[str, TypeFields] = {
    Type.A: TypeFields("IPv4 address", "[remote_addr] stands for the address that you send this form from."),
    Type.AAAA: TypeFields("IPv6 address", "[remote_addr] stands for the address that you send this form from."),
    Type.CNAME: TypeFields("Other name", "The full name that this name stands for."),
    Type.MX: TypeFields(
        "Mail server",
        f"{HOST_HELP} Empty, with priority 0 and without a name: the domain accepts no mail.",
        ("priority",),
    ),
    Type.TXT: TypeFields("Text", "Up to 4096 characters, in one line."),
    Type.NS: TypeFields("Name server", HOST_HELP),
    Type.SRV: TypeFields(
        "Host",
        f"{HOST_HELP} A dot alone means that the service does not exist.",
        ("service", "protocol", "priority", "weight", "port"),
    ),
    Type.CAA: TypeFields(
        "Authority",
        "The domain of a certificate authority, or ; for none. "
        "For reports: a domain, a web address or a mailto: address.",
        ("tag",),
    ),
    Type.PTR: TypeFields("Host", HOST_HELP),
}
"""The types in the order in which the page offers them."""


class RecordForm(BodyForm):
    """A record of the type `kind`."""

    body = RecordRequest
    blank = frozenset({"name", "service", "priority", "weight", "port", "target"})

    name = TextField(
        label="Name",
        help_text="Below the domain, such as www. Empty for the domain itself.",
        widget=forms.TextInput(attrs=PLAIN),
    )
    service = TextField(label="Service", help_text="Such as sip.", widget=forms.TextInput(attrs=PLAIN))
    protocol = TextField(
        label="Protocol", help_text="Such as udp. Empty for tcp.", widget=forms.TextInput(attrs=PLAIN)
    )
    priority = NumberField(label="Priority", help_text="0 to 255. The smallest comes first.")
    weight = NumberField(label="Weight", help_text="0 to 65535, among equal priorities.")
    port = NumberField(label="Port", help_text="0 to 65535.")
    tag = ChoiceField(
        label="Tag",
        choices=(
            ("issue", "issue: may issue certificates"),
            ("issuewild", "issuewild: may issue wildcard certificates"),
            ("iodef", "iodef: receives reports"),
        ),
    )
    target = TextField(strip=False, widget=forms.TextInput(attrs=PLAIN))
    ttl_sec = ChoiceField(label="TTL", number=True)

    def __init__(self, *args: Any, kind: str, domain: Domain, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.kind = kind
        fields = FIELDS_OF_TYPE[kind]
        for name in FIELDS:
            if name not in ("name", "target", "ttl_sec", *fields.others):
                del self.fields[name]
        target = self.fields["target"]
        target.label, target.help_text = fields.label, fields.help_text
        if kind == Type.TXT:
            target.widget = forms.Textarea(attrs={"rows": 3, "spellcheck": "false"})
        if kind == Type.SRV:
            self.fields["name"].help_text = "Below service and protocol. Usually empty."
        self.offer("ttl_sec", times(ttl_of(domain)))

    def as_body(self) -> dict[str, Any]:
        body = {**super().as_body(), "type": self.kind}
        # null, and not an empty text, stands for the default
        return {**body, "protocol": body.get("protocol")} if "protocol" in self.fields else body

    @classmethod
    def initial_of(cls, record: DomainRecord) -> dict[str, Any]:
        """Return the initial values for changing a record. An SRV record has service and protocol in fields."""
        initial = {name: getattr(record, name) for name in FIELDS}
        if record.type == Type.SRV:
            initial |= {name: records.as_sent(record.type, initial[name]) for name in ("service", "protocol")}
            initial["name"] = ".".join(record.name.split(".")[2:])
        return initial

    def focus(self) -> None:
        """Set the focus on the first field with a reason, or else on the first field."""
        wrong = next((name for name in self.fields if name in self.errors), None) if self.is_bound else None
        self.fields[wrong or next(iter(self.fields))].widget.attrs["autofocus"] = True


class EditRecordForm(RecordForm):
    """A record that exists. Its type cannot change."""

    partial = True


FIRST_VALUES: dict[str, dict[str, Any]] = {
    Type.MX: {"priority": 10},
    Type.SRV: {"priority": 10, "weight": 0, "protocol": "tcp"},
}
"""The initial values of a new record, by type."""
