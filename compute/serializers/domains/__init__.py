"""Domains and their records on the wire."""
