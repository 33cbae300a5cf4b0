"""Lookups that filters need and Django lacks. Importing this module registers them."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import ForeignKey, JSONField, Lookup
from django.db.models.lookups import Contains
from django.db.models.sql.compiler import SQLCompiler


@ArrayField.register_lookup
class AnyElementContains(Lookup):
    """Tests whether any element of an array contains a text."""

    lookup_name = "any_contains"
    prepare_rhs = False
    template = "EXISTS (SELECT 1 FROM unnest({array}) AS item WHERE strpos(item::text, {text}::text) > 0)"

    def get_db_prep_lookup(self, value: Any, connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        return "%s", [value]

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, tuple[str | int, ...]]:
        array, array_params = self.process_lhs(compiler, connection)
        text, text_params = self.process_rhs(compiler, connection)
        # The compiler creates both parts. Values are passed as parameters.
        return self.template.format(array=array, text=text), (*array_params, *text_params)


@JSONField.register_lookup
class AnyLabelContains(AnyElementContains):
    """Tests whether the ``label`` of any object in a JSON array contains a text."""

    template = (
        "EXISTS (SELECT 1 FROM jsonb_array_elements({array}) AS item WHERE strpos(item->>'label', {text}) > 0)"
    )


# ``region_id`` is a text that filters may search, but a ForeignKey itself has no text lookups.
ForeignKey.register_lookup(Contains)
