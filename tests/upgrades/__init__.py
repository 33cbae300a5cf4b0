"""Databases of earlier releases, which every later release must migrate (docs/decisions/migrations.md)."""

KEY = "the databases of tests/upgrades hold no secret of anybody"
"""The encryption key of these databases."""
