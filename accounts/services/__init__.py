"""The verbs of accounts: each function that writes is one transaction."""
