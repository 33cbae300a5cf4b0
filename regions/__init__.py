"""The catalogue of regions."""
