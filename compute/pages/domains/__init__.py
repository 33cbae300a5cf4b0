"""The pages of domains and their records."""
