"""Tables whose rows are work: SQL by which one worker at a time has a row, and the rules that all of them keep.

A row says when it is due (``run_at``), until when a worker has it (``lease_until``) and how often it was claimed
(``fence``). Its life, in conditional UPDATEs on the database's clock alone:

- **claim**: of rows that are `FREE`, with `taken`. The worker keeps the fence that the claim returns. Who claims
  several chooses them by `chosen`, and locks them ``SKIP LOCKED``, so that two who claim at once share the rows.
- **settle** writes what came of the work, **postpone** that it is to be tried again; both `WHERE` the row is `MINE`
  and with `GIVEN_BACK`. A worker whose lease ran out, and whose row somebody else claimed since, matches no row.
- a worker that dies settles nothing: its lease runs out, and the row is free.

Where workers are notified of rows, those of which somebody was notified (``notified_at``) a moment ago are left out
(`NOT_NOTIFIED_LATELY`).

No time is written further ahead than the longest wait or lease of its table. One that is further ahead than twice
that, the `horizon`, was written before the clock was set back, and would hold the row up as long as that was: it
counts as passed.

Fragments name their columns and parameters; a table that names its columns otherwise, or reads them through an
alias, says so.
"""

_CLOCK = "statement_timestamp()"
_HORIZON = "%(horizon)s"
_HOUR = 3600.0


def after(seconds: str) -> str:
    """SQL: the time in so many seconds, which are SQL as well; negative ones are past."""
    return f"{_CLOCK} + ({seconds})::float8 * interval '1 second'"


def due(column: str = "run_at", horizon: str = _HORIZON) -> str:
    """SQL: whether the time of a row has come. `horizon` is SQL as well, in seconds."""
    return f"({column} <= {_CLOCK} OR {column} > {after(horizon)})"


def leased(column: str = "lease_until", horizon: str = _HORIZON) -> str:
    """SQL: whether a worker has the row. Null, as false, where none ever had it."""
    return f"({column} > {_CLOCK} AND {column} <= {after(horizon)})"


def unleased(column: str = "lease_until", horizon: str = _HORIZON) -> str:
    """SQL: whether no worker has the row: never, or not any more."""
    return f"({column} IS NULL OR {due(column, horizon)})"


def taken(seconds: str = "%(lease)s") -> str:
    """SQL, of a claim: what it sets. The lease lasts for `seconds`, which are SQL."""
    return f"lease_until = {after(seconds)}, fence = fence + 1"


def chosen(key: str, query: str) -> str:
    """SQL: whether the key of a row is among those that `query` finds, which has a limit and is asked once.

    Of ``key IN (query)`` the planner may make a join that asks the query again for each row of the other side. Each
    time it locks other rows, so that in the end more are claimed than its limit.
    """
    return f"{key} = ANY(ARRAY({query}))"


FREE = f"{due()} AND {unleased()}"
"""SQL: whether a row may be claimed. Takes ``horizon``."""
MINE = "fence = %(fence)s"
"""SQL: whether nobody claimed the row since. Takes ``fence``, that of the claim."""
GIVEN_BACK = "lease_until = NULL"
"""SQL: what ends a lease."""
NOT_NOTIFIED_LATELY = (
    f"(notified_at IS NULL OR notified_at <= {after('-%(patience)s::float8')} OR notified_at > {after(_HORIZON)})"
)
"""SQL: whether nobody was notified of the row in the last ``patience`` seconds. Takes ``horizon`` as well."""


def horizon_of(*longest: float) -> float:
    """In how many seconds no time of a table is said to be, given the longest waits and leases of its rows.

    Two hours at least: those of other processes may be longer, while settings change.
    """
    return 2 * max(_HOUR, *longest)
