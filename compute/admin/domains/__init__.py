"""The pages of domains for staff."""
