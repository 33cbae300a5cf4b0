"""The resources of managed monitoring's API: request bodies and answers."""
