"""Helpers that several nouns share, such as locks, labels and names."""
