"""Work queues in tables: SQL fragments that lease a row to one worker at a time, and the rules of such a table.

A row records when it is due (``run_at``), how long its lease lasts (``lease_until``) and how often it was claimed
(``fence``). Conditional UPDATEs change it, on the database's clock alone:

- **claim** takes a lease on rows that are `FREE`, by setting `taken`. The worker keeps the fence that the claim
  returns. A claim of several rows selects them by `chosen` and locks them ``SKIP LOCKED``, so that two workers that
  claim at once share the rows.
- **settle** writes the outcome of the work, **postpone** the time of the retry. Both match the row by `MINE` and
  end the lease by `GIVEN_BACK`. After a worker's lease ran out and another one claimed the row, no row matches.
- a worker that dies settles nothing: its lease runs out, and the row is free.

Notifications omit rows of which workers were notified (``notified_at``) a moment ago (`NOT_NOTIFIED_LATELY`).

No time is written further ahead than the longest wait or lease of its table. A time beyond twice that length, the
`horizon`, was written before the clock was set back. It counts as passed. Otherwise it would block the row for as
long as the clock was set back.

Fragments name their columns and parameters. A table with other column names, or a query with an alias, passes its
own.
"""

_CLOCK = "statement_timestamp()"
_HORIZON = "%(horizon)s"
_HOUR = 3600.0


def after(seconds: str) -> str:
    """SQL: the time `seconds` from now. `seconds` is SQL as well; a negative number gives a past time."""
    return f"{_CLOCK} + ({seconds})::float8 * interval '1 second'"


def due(column: str = "run_at", horizon: str = _HORIZON) -> str:
    """SQL: whether a row is due. `horizon` is SQL as well, in seconds."""
    return f"({column} <= {_CLOCK} OR {column} > {after(horizon)})"


def leased(column: str = "lease_until", horizon: str = _HORIZON) -> str:
    """SQL: whether a worker holds a lease on the row. Null, which counts as false, for a row never leased."""
    return f"({column} > {_CLOCK} AND {column} <= {after(horizon)})"


def unleased(column: str = "lease_until", horizon: str = _HORIZON) -> str:
    """SQL: whether no worker holds a lease on the row: it was never leased, or its lease has ended."""
    return f"({column} IS NULL OR {due(column, horizon)})"


def taken(seconds: str = "%(lease)s") -> str:
    """SQL: the SET clause of a claim. The lease lasts for `seconds`, which is SQL as well."""
    return f"lease_until = {after(seconds)}, fence = fence + 1"


def chosen(key: str, query: str) -> str:
    """SQL: whether the key of a row is in the result of `query`, which has a limit and is executed once.

    The planner may turn ``key IN (query)`` into a join that executes the query for each row of the other side. Each
    execution locks other rows, so that the claim would take more rows than the limit.
    """
    return f"{key} = ANY(ARRAY({query}))"


FREE = f"{due()} AND {unleased()}"
"""SQL: whether a row may be claimed. Takes ``horizon``."""
MINE = "fence = %(fence)s"
"""SQL: whether no worker has claimed the row since. Takes ``fence``, as the claim returned it."""
GIVEN_BACK = "lease_until = NULL"
"""SQL: the SET clause that ends a lease."""
NOT_NOTIFIED_LATELY = (
    f"(notified_at IS NULL OR notified_at <= {after('-%(patience)s::float8')} OR notified_at > {after(_HORIZON)})"
)
"""SQL: whether workers were not notified of the row in the last ``patience`` seconds. Takes ``horizon`` as well."""


def horizon_of(*longest: float) -> float:
    """The horizon of a table in seconds, given its longest waits and leases: no valid time is further ahead.

    Two hours at least: while settings change, the waits and leases of other processes may be longer.
    """
    return 2 * max(_HOUR, *longest)
