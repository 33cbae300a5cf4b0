"""Whose token a request brings, as far as this process has seen the token before: a guess, without the database."""

Known = tuple[int | None, int]
"""A user, if the token has one, and the account, by their ids."""


class KnownUsers:
    """The user of each token that this process has seen, with its account.

    Keeps no token, only Python's salted hash of it. Threads share it without a lock: each step is one operation of
    a dict, and an entry that is lost between two is only learned again.
    """

    MAX_KNOWN = 50_000  # tokens; more than that are forgotten all at once

    def __init__(self) -> None:
        self.known: dict[int, Known] = {}

    def get(self, header: str | None) -> Known | None:
        """Whose token an ``Authorization`` header has; None where it was not seen yet, or was no good."""
        return None if header is None else self.known.get(hash(header))

    def learn(self, header: str | None, user: Known | None) -> None:
        if header is None:
            return
        if user is None:
            self.known.pop(hash(header), None)
        else:
            if len(self.known) >= self.MAX_KNOWN:
                self.known.clear()
            self.known[hash(header)] = user


known_users = KnownUsers()
