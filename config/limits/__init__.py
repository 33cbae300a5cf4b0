"""Limits of one client: its requests in a time, and its seconds of work."""
