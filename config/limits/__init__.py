"""Limits of what one client may ask: requests in a time, and seconds of work."""
