"""The pages of all addresses and IPv6 ranges of the account, whichever instances have them."""
