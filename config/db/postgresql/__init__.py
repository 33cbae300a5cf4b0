"""The database backend of the setting DATABASES: Django's for PostgreSQL, with rules for lost connections."""
