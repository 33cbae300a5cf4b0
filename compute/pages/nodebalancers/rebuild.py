"""The rebuild of a config: one form with its settings and all its nodes, which takes effect at once."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpResponse

from compute.models import NodeBalancerConfig, NodeBalancerNode
from compute.pages.nodebalancers.base import ADD, ConfigPage, private_addresses
from compute.pages.nodebalancers.config_form import ConfigForm, values_of
from compute.pages.nodebalancers.configs import ConfigFormPage
from compute.pages.nodebalancers.nodes import MODES, address_field, label_field
from compute.serializers.nodebalancers.configs import NodeBalancerConfigRebuild, wish_of
from compute.services.nodebalancers import configs
from config.display.plurals import counted
from config.errors import DomainError, Invalid
from config.pages.forms import ChoiceField, FlagField, NumberField

SPARE_ROWS = 3
MAX_NODES = 150
"""The most nodes that the form shows. Django accepts 1,000 values in a form, and a node has up to six."""
COLUMNS = ("label", "address", "weight", "mode")
POSITION = re.compile(r"nodes\[(\d+)\](.*)")
TOO_MANY = f"The form has space for {MAX_NODES} nodes. To rebuild a config with more nodes, use the API."


@dataclass(frozen=True, slots=True)
class NodeRow:
    """The fields of a node in the form. A node of the config can also be deleted."""

    id: forms.BoundField
    fields: list[forms.BoundField]


class RebuildForm(ConfigForm):
    """All settings of a config, and its nodes in rows. Empty rows are for new nodes."""

    body = NodeBalancerConfigRebuild

    def __init__(self, *args: Any, config: NodeBalancerConfig, **kwargs: Any):
        super().__init__(*args, config=config, **kwargs)
        self.config = config
        present = list(config.nodes.all()[:MAX_NODES])
        posted = sum(name.startswith("nodes[") and name.endswith("].label") for name in self.data)
        self.count = max(len(present) + SPARE_ROWS, min(posted, MAX_NODES + SPARE_ROWS))
        for row in range(self.count):
            node = present[row] if row < len(present) else None
            self.fields |= self._row_fields(row, node)

    def _row_fields(self, row: int, node: NodeBalancerNode | None) -> dict[str, forms.Field]:
        blank = node or NodeBalancerNode()
        made: dict[str, forms.Field] = {
            "id": NumberField(widget=forms.HiddenInput),
            "label": label_field(f"Label of node {row + 1}", help_text=""),
            "address": address_field("Private address and port"),
            "weight": NumberField(label="Weight"),
            "mode": ChoiceField(label="Mode", choices=MODES),
            "delete": FlagField(label="Delete this node"),
        }
        values = {"id": blank.pk, **{name: getattr(blank, name) for name in COLUMNS}}
        for name, value in values.items():
            made[name].initial = value
        return {f"nodes[{row}].{name}": field for name, field in made.items()}

    def addresses(self) -> list[tuple[str, str]]:
        found = private_addresses(self.actor, self.object.region_id)
        return [(f"{address}:{self.config.port}", label) for address, label in found]

    def rows(self) -> Iterator[NodeRow]:
        for row in range(self.count):
            key = self[f"nodes[{row}].id"]
            names = (*COLUMNS, "delete") if key.value() else COLUMNS
            yield NodeRow(key, [self[f"nodes[{row}].{name}"] for name in names])

    # --- the body of the request ----------------------------------------------------------------------------

    def _sent_rows(self) -> list[int]:
        """The rows of nodes that the config has after the rebuild."""
        given = self.cleaned_data
        return [
            row
            for row in range(self.count)
            if not given.get(f"nodes[{row}].delete")
            and any(given.get(f"nodes[{row}].{name}") for name in ("id", "label", "address"))
        ]

    def is_sent(self, name: str, value: Any) -> bool:
        return not name.startswith("nodes[") and super().is_sent(name, value)

    def as_body(self) -> dict[str, Any]:
        body = super().as_body()
        body["nodes"] = [dict(self._node(row)) for row in self._sent_rows()]
        return body

    def _node(self, row: int) -> Iterator[tuple[str, Any]]:
        """The values of a row. An emptied label or address of a present node is refused, and not ignored."""
        present = bool(self.cleaned_data.get(f"nodes[{row}].id"))
        for name in ("id", *COLUMNS):
            value = self.cleaned_data.get(f"nodes[{row}].{name}")
            if value not in (None, "") or (present and name in ("label", "address")):
                yield name, value

    def renamed(self, error: DomainError) -> DomainError:
        """Return the same error with the rows of the form in place of the positions in the body."""
        rows = self._sent_rows()

        def named(field: str | None) -> str | None:
            found = POSITION.fullmatch(field or "")
            return f"nodes[{rows[int(found[1])]}]{found[2]}" if found else field

        return error.with_fields(named)


class RebuildConfigView(ConfigPage, ConfigFormPage):
    """``/home/load-balancers/<id>/configs/<id>/rebuild``."""

    template_name = "compute/nodebalancers/config_rebuild.html"
    form_class = RebuildForm
    operations = frozenset({"nodebalancers_configs_rebuild"})
    grant = ADD
    heading = "Rebuild {page.config}"
    introduction = "Changes the settings and all nodes of the config at once. The nodes are below the settings."
    verb = "Rebuild"

    def unavailable(self) -> str:
        return TOO_MANY if self.config.nodes.count() > MAX_NODES else ""

    def get_initial(self) -> dict[str, Any]:
        return values_of(self.config)

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "config": self.config}

    def refused(self, form: Any, error: DomainError) -> HttpResponse:
        return super().refused(form, form.renamed(error))

    def perform(self, form: RebuildForm) -> str:
        if reason := self.unavailable():
            raise Invalid(reason)
        changed = configs.rebuild(self.actor, self.config, wish_of(form.given), form.given.problems)
        return f"The config {changed} was rebuilt with {counted(len(form.given.get('nodes', ())), 'node')}."
