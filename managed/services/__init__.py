"""The verbs of managed monitoring: each function that writes is one transaction."""
