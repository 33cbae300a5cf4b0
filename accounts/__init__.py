"""Accounts: users, grants, tokens, sign-in, OAuth, tickets, events and mails."""
