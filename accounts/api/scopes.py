"""The scopes of the endpoints about the account and its users."""

READ = "account:read_only"
WRITE = "account:read_write"
