"""The verbs of compute: each function that writes is one transaction. A package for each noun."""
