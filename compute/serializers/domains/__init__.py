"""Serializers of domains and their records."""
