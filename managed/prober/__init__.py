"""Checks services: `checks` asks one, `loop` asks many at once, and `managed.services.probing` keeps the score."""
