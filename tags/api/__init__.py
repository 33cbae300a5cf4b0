"""The views of tags."""
