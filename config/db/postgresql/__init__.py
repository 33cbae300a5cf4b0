"""The database backend of the setting DATABASES: Django's for PostgreSQL, with a rule for lost connections."""
