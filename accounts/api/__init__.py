"""The views of accounts' API."""
