"""The form with all rules of a direction. Its buttons add, remove and move rows without saving the rules.

The rows are in the form alone until they are saved, as a whole, like the list in a request to the API. The buttons
send the form, so they work without JavaScript.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from django.http import HttpRequest, HttpResponse

from accounts.pages.objects import ObjectForm
from compute.pages.networking.firewalls.base import FirewallFormPage
from compute.pages.networking.firewalls.presets import PRESETS
from compute.pages.networking.firewalls.rule_tables import ACTIONS, PROTOCOLS, networks_of
from compute.serializers.networking.firewalls import RulesRequest
from compute.services.networking.firewalls import firewalls
from compute.services.networking.firewalls.rules import DIRECTIONS, MAX_RULES
from config.display.integers import is_integer
from config.errors import DomainError
from config.pages.forms import ChoiceField, TextField, WordsField

FIELDS = ("action", "protocol", "ports", "addresses", "label", "description")
EMPTY = {"action": "ACCEPT", "protocol": "TCP", "addresses": "0.0.0.0/0, ::/0"}
"""A new row."""
ROW = re.compile(r"\w+\[(\d+)\](?:\.(\w+))?")
"""The name of a row's field, or of a value within the row: the row's number, and the name in the row."""

Row = Mapping[str, str]
"""The texts of a row's inputs, by `FIELDS`."""


def row_of(rule: Mapping[str, Any]) -> Row:
    """Return the row of a rule that the API has."""
    return {**{name: rule.get(name) or "" for name in FIELDS}, "addresses": ", ".join(networks_of(rule))}


class RulesForm(ObjectForm):
    """The policy of a direction and its rules, with a fieldset for each row."""

    body = RulesRequest
    partial = True

    def __init__(self, *args: Any, direction: str, rows: Sequence[Row], policy: str, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.direction, self.number = direction, len(rows)
        actions = tuple(ACTIONS.items())
        self.fields[self.policy_name] = ChoiceField(
            label="All other traffic", choices=actions, help_text="The policy: the action if no rule matches."
        )
        self.initial[self.policy_name] = policy
        for number, row in enumerate(rows):
            made = {
                "action": ChoiceField(label="Action", choices=actions),
                "protocol": ChoiceField(label="Protocol", choices=tuple(PROTOCOLS.items())),
                "ports": TextField(label="Ports", help_text="Such as 22, 8000-8010. Empty for all ports."),
                "addresses": WordsField(
                    label="Sources" if direction == "inbound" else "Destinations", separators=r"[,\s]",
                    help_text="Networks such as 192.0.2.0/24, separated by commas. 192.0.2.7/32 is one address, "
                    "0.0.0.0/0 and ::/0 are all addresses.",
                ),
                "label": TextField(label="Label", help_text="Optional."),
                "description": TextField(label="Description", help_text="Optional."),
            }  # fmt: skip
            for name, field in made.items():
                self.fields[self._name(number, name)] = field
                self.initial[self._name(number, name)] = row.get(name, "")

    @property
    def policy_name(self) -> str:
        return f"{self.direction}_policy"

    def _name(self, row: int, name: str) -> str:
        return f"{self.direction}[{row}].{name}"

    def policy(self) -> forms.BoundField:
        return self[self.policy_name]

    def rows(self) -> Iterator[dict[str, forms.BoundField]]:
        """The fields of each row, by `FIELDS`."""
        for row in range(self.number):
            yield {name: self[self._name(row, name)] for name in FIELDS}

    def as_body(self) -> dict[str, Any]:
        policy = self.cleaned_data[self.policy_name]
        rules = {self.direction: [self._rule(row) for row in range(self.number)]}
        return {**rules, self.policy_name: policy} if policy else rules

    def _rule(self, row: int) -> dict[str, Any]:
        given = {name: self.cleaned_data[self._name(row, name)] for name in FIELDS}
        networks = given.pop("addresses")
        families = {
            "ipv4": [each for each in networks if ":" not in each],
            "ipv6": [each for each in networks if ":" in each],
        }
        filled = {name: value for name, value in given.items() if value}
        return {**filled, "addresses": {family: found for family, found in families.items() if found}}

    def renamed(self, error: DomainError) -> DomainError:
        """Return the same error with the names of the form's fields."""
        return error.with_fields(lambda field: self._field_of(field or ""))

    def _field_of(self, field: str) -> str:
        found = ROW.match(field)
        if found is None:
            return field
        name = self._name(int(found[1]), found[2] or "action")
        return name if name in self.fields else self._name(int(found[1]), "action")


class RulesView(FirewallFormPage):
    """``/home/firewalls/<id>/inbound`` and ``/outbound``."""

    form_class = RulesForm
    template_name = "compute/firewall_rules.html"
    operations = frozenset({"networking_firewalls_rules_update"})
    heading = "{page.words} of {page.firewall}"
    introduction = "The first rule that matches decides. Replies to accepted traffic are always accepted."
    verb = "Save rules"
    direction: ClassVar[str] = "inbound"
    """The URLs set it."""

    @property
    def words(self) -> str:
        return f"{self.direction.capitalize()} rules"

    def get_form_kwargs(self) -> dict[str, Any]:
        given = super().get_form_kwargs() | {"direction": self.direction}
        if self.request.method != "POST":
            rules = self.firewall.rules
            rows = [row_of(rule) for rule in rules[self.direction] or ()]
            return given | {"rows": rows, "policy": rules[f"{self.direction}_policy"]}
        rows = self._sent_rows()
        change = self.request.POST.get("change")
        if change is not None:
            del given["data"], given["files"]
            rows = changed(rows, change)
        return given | {"rows": rows, "policy": self.request.POST.get(f"{self.direction}_policy", "")}

    def _sent_rows(self) -> list[Row]:
        """The rows of the sent form: those whose fields it has. One row too many is enough to be refused."""
        sent = self.request.POST
        rows: list[Row] = []
        while len(rows) <= MAX_RULES and f"{self.direction}[{len(rows)}].action" in sent:
            rows.append({name: sent.get(f"{self.direction}[{len(rows)}].{name}", "") for name in FIELDS})
        return rows

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if "change" in request.POST:
            return self.render_to_response(self.get_context_data())
        return super().post(request, *args, **kwargs)

    def get_success_url(self) -> str:
        """Return the address of the table. Without a fragment, browsers keep that of a button: ``#rule-3``."""
        return f"{self.back_address()}#{self.direction}"

    def perform(self, form: RulesForm) -> str:
        firewalls.set_rules(self.actor, self.firewall, form.given, form.given.problems)
        return f"The {self.direction} rules were saved."

    def refused(self, form: Any, error: DomainError) -> HttpResponse:
        return super().refused(form, form.renamed(error))

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(presets=PRESETS, max_rules=MAX_RULES, **kwargs)
        others = sum(len(self.firewall.rules[each] or ()) for each in DIRECTIONS if each != self.direction)
        return {**context, "full": context["form"].number + others >= MAX_RULES}


def changed(rows: Sequence[Row], change: str) -> list[Row]:
    """Return the rows after the change that a button names: ``add``, ``add:ssh``, ``remove:2``, ``up:2``.

    Any other change leaves the rows as they are.
    """
    verb, _, place = change.partition(":")
    rows = list(rows)
    if verb == "add" and len(rows) < MAX_RULES:
        rows.append(row_of(PRESETS[place].rule()) if place in PRESETS else EMPTY)
    elif is_integer(place) and int(place) in range(len(rows)):
        target = {"up": int(place) - 1, "down": int(place) + 1, "remove": None}.get(verb, int(place))
        row = rows.pop(int(place))
        if target is not None:
            rows.insert(max(target, 0), row)
    return rows
