"""The pages of the account's users and their grants. Only unrestricted users may open them."""
