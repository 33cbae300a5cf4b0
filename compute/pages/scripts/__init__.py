"""The pages of deployment scripts: the account's own, and the public ones of all accounts."""
