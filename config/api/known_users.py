"""The user of a request's token, if this process has seen the token before: a guess, without the database."""

Known = tuple[int | None, int]
"""A user, if the token has one, and the account, by their ids."""


class KnownUsers:
    """The user of each token that this process has seen, with the user's account.

    The object stores no token, only Python's salted hash of it. Threads share it without a lock: each step is one
    operation of a dict. An entry that is lost between two steps is learned again.
    """

    MAX_KNOWN = 50_000  # the maximum number of tokens. Beyond it, all are dropped at once.

    def __init__(self) -> None:
        self.known: dict[int, Known] = {}

    def get(self, header: str | None) -> Known | None:
        """Return the user of an ``Authorization`` header.

        None if its token is new to this process or was invalid.
        """
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
