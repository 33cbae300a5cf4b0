"""The database: statements, prepared queries, locks, leases and connections."""
