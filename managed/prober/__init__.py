"""Checks services: `checks` makes one check, `loop` many at once. `managed.services.probing` settles outcomes."""
