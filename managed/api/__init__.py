"""The views of managed monitoring's API."""
