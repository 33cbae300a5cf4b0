"""Domains and their records, and zones as text, as files and from other name servers."""
