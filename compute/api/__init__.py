"""The views of the compute API."""
