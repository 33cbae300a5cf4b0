"""The fields of a config of a load balancer, and the forms to create and change one."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms

from accounts.pages.objects import ObjectForm
from compute.models import NodeBalancerConfig
from compute.serializers.nodebalancers.configs import NodeBalancerConfigCreate, NodeBalancerConfigRequest
from config.pages.forms import ChoiceField, FlagField, NumberField, TextField

Config = NodeBalancerConfig
HTTPS_PORT = 443
PROTOCOLS = (("http", "HTTP"), ("https", "HTTPS, with a certificate"), ("tcp", "TCP, forwarded unchanged"))
ALGORITHMS = (
    ("roundrobin", "roundrobin: each node in turn, by weight"),
    ("leastconn", "leastconn: the node with the fewest connections"),
    ("source", "source: the same node for the address of a client"),
)
STICKINESS = (
    ("none", "none: each connection can go to another node"),
    ("table", "table: by the address of the client, for 30 minutes"),
    ("http_cookie", "http_cookie: by a cookie, not with TCP"),
)
CHECKS = (
    ("none", "none"),
    ("connection", "connection: the node accepts a connection"),
    ("http", "http: a request is answered with 2xx or 3xx"),
    ("http_body", "http_body: the answer to a request contains a text"),
)
PROXY_PROTOCOLS = (("none", "none"), ("v1", "v1"), ("v2", "v2"))
CIPHER_SUITES = (("recommended", "recommended: secure ciphers"), ("legacy", "legacy: older ciphers too"))
NUMBERS = ("port", "check_interval", "check_timeout", "check_attempts")
TEXTS = ("check_path", "check_body")
COLUMNS = {"check": "check_type"}
"""The columns whose names differ from the fields of the form."""
PASTE_AGAIN = "The page does not repeat a private key. Paste the key again."
SECTIONS = (
    ("Traffic", "", ("port", "protocol", "algorithm", "stickiness", "proxy_protocol")),
    ("Certificate", "if-https", ("ssl_cert", "ssl_key", "cipher_suite")),
    (
        "Checks of the nodes",
        "",
        ("check", "check_path", "check_body", "check_interval", "check_timeout", "check_attempts", "check_passive"),
    ),
)
"""The sections of the form: the heading, the class that hides it, and the names of the fields."""
CONFIG_FIELDS = tuple(name for _, _, names in SECTIONS for name in names)
NEEDED = {
    "check_path": "if-request", "check_body": "if-body", "check_interval": "if-watched",
    "check_timeout": "if-checked", "check_attempts": "if-watched",
}  # fmt: skip
"""The class that hides a field which the chosen check does not need (``frame.css``)."""


class SecretTextarea(forms.Textarea):
    """A text of several lines that is never sent back to the browser."""

    def format_value(self, value: Any) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the form. The class `needed` hides the section if it does not apply. Each field has one too."""

    title: str
    needed: str
    fields: list[tuple[str, forms.BoundField]]


def config_fields(config: Config | None = None) -> dict[str, forms.Field]:
    """The fields of a config. If `config` has a certificate, the fields say that it stays if they are empty."""
    pem = {"rows": 5, "spellcheck": "false", "autocomplete": "off", "class": "font-monospace"}
    kept = "If empty, the current one stays. " if config and config.ssl_fingerprint else ""
    return {
        "port": NumberField(label="Port", help_text="The port that clients connect to, 1 to 65535."),
        "protocol": _select("Protocol", PROTOCOLS, "of-protocol"),
        "algorithm": _select("Algorithm", ALGORITHMS),
        "stickiness": _select("Stickiness", STICKINESS),
        "proxy_protocol": _select(
            "PROXY protocol", PROXY_PROTOCOLS,
            help_text="Sends the address of the client to the nodes. The nodes must support the protocol.",
        ),
        "ssl_cert": TextField(
            label="Certificate", widget=forms.Textarea(attrs=pem),
            help_text=f"{kept}As PEM, followed by its chain.",
        ),
        "ssl_key": TextField(
            label="Private key", widget=SecretTextarea(attrs=pem),
            help_text=f"{kept}As PEM, without a password. The key is never shown again.",
        ),
        "cipher_suite": _select("Ciphers", CIPHER_SUITES),
        "check": _select("Check", CHECKS, "of-check"),
        "check_path": TextField(label="Path of the request", help_text="Such as /health. Empty: /"),
        "check_body": TextField(label="Text in the answer", strip=False),
        "check_interval": NumberField(label="Interval", help_text="Seconds between two checks, 1 to 3600."),
        "check_timeout": NumberField(label="Timeout", help_text="Seconds, 1 to 30, at most the interval."),
        "check_attempts": NumberField(
            label="Failures", help_text="In a row, until the node is DOWN and gets no traffic, 1 to 30."
        ),
        "check_passive": FlagField(
            label="Also check the answers to clients", widget=forms.CheckboxInput(attrs={"class": "of-passive"}),
            help_text="Bad answers count as failures: 5xx, or a failed connection.",
        ),
    }  # fmt: skip


def propose_port(form: forms.Form) -> None:
    """Leave the port of a new config empty, and say which one it then gets. `port_of` returns that one."""
    field = form.fields["port"]
    field.help_text = f"{field.help_text} Left empty: {HTTPS_PORT} with HTTPS, otherwise {Config().port}."
    form.initial["port"] = ""


def port_of(given: Mapping[str, Any]) -> Any:
    """Return the port of a new config: the given one, or the usual one of the protocol."""
    if given["port"] not in (None, ""):
        return given["port"]
    return HTTPS_PORT if given["protocol"] == Config.Protocol.HTTPS else Config().port


def values_of(config: Config) -> dict[str, Any]:
    """The values of the fields. The certificate and its key are not among them."""
    names = (name for name in CONFIG_FIELDS if not name.startswith("ssl_"))
    return {name: getattr(config, COLUMNS.get(name, name)) for name in names}


def sections_of(form: forms.Form) -> Iterator[Section]:
    for title, needed, names in SECTIONS:
        yield Section(title, needed, [(NEEDED.get(name, ""), form[name]) for name in names])


def ask_for_key_again(form: forms.Form) -> None:
    """Ask for the private key again if a form with a key is refused, because the page does not repeat the key."""
    if form["protocol"].data == Config.Protocol.HTTPS and form["ssl_key"].data and not form.has_error("ssl_key"):
        form.add_error("ssl_key", PASTE_AGAIN)


class ConfigForm(ObjectForm):
    """Base of the forms of a config of a load balancer. Subclasses name the body."""

    blank = frozenset(TEXTS)

    def __init__(self, *args: Any, config: Config | None = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields |= config_fields(config)

    def sections(self) -> Iterable[Section]:
        return sections_of(self)


class NewConfigForm(ConfigForm):
    body = NodeBalancerConfigCreate

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        propose_port(self)

    def as_body(self) -> dict[str, Any]:
        return {**super().as_body(), "port": port_of(self.cleaned_data)}


class EditConfigForm(ConfigForm):
    body = NodeBalancerConfigRequest
    partial = True
    blank = frozenset((*TEXTS, *NUMBERS))


def _select(label: str, choices: Iterable[tuple[str, str]], mark: str = "", **kwargs: Any) -> ChoiceField:
    return ChoiceField(label=label, choices=choices, widget=forms.Select(attrs={"class": mark}), **kwargs)
