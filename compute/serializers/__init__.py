"""The resources of the compute API: request bodies and answers."""
