"""Databases of earlier releases, which every later one has to migrate (docs/decisions/migrations.md)."""

KEY = "the databases of tests/upgrades hold no secret of anybody"
"""The encryption key of what the databases hold encrypted."""
