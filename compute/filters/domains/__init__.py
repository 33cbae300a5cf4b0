"""The filters of domains and their records."""
