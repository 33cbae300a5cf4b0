"""The tables of domains and their records."""
