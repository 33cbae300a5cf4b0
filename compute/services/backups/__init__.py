"""Backups of instances: their settings, their schedule, taking and restoring them."""
