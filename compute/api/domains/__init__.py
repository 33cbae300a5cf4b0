"""Domains and their records."""
