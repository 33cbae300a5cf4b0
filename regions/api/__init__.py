"""The view of the list of regions."""
