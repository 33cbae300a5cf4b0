"""The resources of accounts' API: request bodies and answers."""
