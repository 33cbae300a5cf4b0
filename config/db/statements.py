"""SQL that is compiled once from a queryset and run many times. It returns rows and no model instances.

Building and compiling a queryset takes longer than the database takes to answer it. So the kit builds the query of
each list and each detail once, with a `Param` for each value of the request, and keeps the SQL. Later requests only
bind the values and fetch the rows. The SQL is still the ORM's: there is no handwritten SQL to keep in step with the
models.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BigIntegerField, Expression, QuerySet, Subquery
from django.db.models.sql.compiler import SQLCompiler

from config.db import prepared

VALUE_METHODS = frozenset(name for name in (*dir(str), *dir(int)) if not name.startswith("_"))
"""The methods of the values that a `Param` replaces."""


class DependsOnRequest(Exception):
    """A queryset depends on more of a request than its SQL can leave open."""


class Param(Expression):
    """A placeholder in a queryset for a value that is known only when the SQL runs.

    The placeholder has no value. Code that compares it, or formats it into a text, would create SQL that is wrong
    for other requests. Such code gets a `DependsOnRequest`.
    """

    def __init__(self, name: str):
        super().__init__()
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        return "%s", [self]

    def __repr__(self) -> str:
        return f"Param({self.name!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str | int | float) and other != "":  # Django compares with an empty text
            raise DependsOnRequest(self.name)
        return super().__eq__(other)

    __hash__ = Expression.__hash__

    def __getattr__(self, name: str) -> Any:
        if name in VALUE_METHODS:
            raise DependsOnRequest(self.name)
        raise AttributeError(name)

    def _looked_at(self, *others: Any) -> Any:
        raise DependsOnRequest(self.name)

    __str__ = __format__ = __int__ = __index__ = _looked_at
    __lt__ = __le__ = __gt__ = __ge__ = _looked_at


class CountOf(Subquery):
    """The number of rows of a queryset, as one column: page and total come in one round trip."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) AS counted)"
    output_field = BigIntegerField()


class SymbolicActor:
    """An actor without an identity, to compile `visible_to(actor)` once for all callers.

    Only `restricted` is known: restricted and unrestricted callers need different SQL.
    """

    account_id = Param("actor.account_id")
    user_id = Param("actor.user_id")
    person = user_id
    username = Param("actor.username")

    def __init__(self, restricted: bool):
        self.restricted = restricted

    def __getattr__(self, name: str) -> Any:
        raise DependsOnRequest(f"user.{name}")


class SymbolicRequest:
    """A placeholder for a request, of which only the user is known."""

    def __init__(self, user: SymbolicActor | None):
        self.user = user

    def __getattr__(self, name: str) -> Any:
        raise DependsOnRequest(f"request.{name}")


class SymbolicPath(Mapping[str, Param]):
    """Path parameters that are left open: any name returns its `Param`."""

    def __getitem__(self, name: str) -> Param:
        return Param(f"path.{name}")

    def __contains__(self, name: object) -> bool:
        raise DependsOnRequest(f"path.{name}")

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def bindings(actor: Any, path: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the `Param`s that `SymbolicActor` and `SymbolicPath` leave open."""
    values = {f"path.{name}": value for name, value in path.items()}
    if actor is not None:
        values["actor.account_id"] = actor.account_id
        values["actor.user_id"] = actor.user_id
        values["actor.username"] = actor.username
    return values


@dataclass(frozen=True, slots=True)
class Statement:
    """Compiled SQL. `sql` is None if the ORM found that no row can match.

    A statement that is `kept` is prepared on each connection, unless it has a parameter of an uncommon type.
    """

    sql: str | None
    params: tuple[Any, ...]
    kept: bool = True

    @classmethod
    def of(cls, queryset: QuerySet, limited: bool = False, kept: bool = True) -> "Statement":
        """Compile `queryset`. With `limited`, leave ``limit`` and ``offset`` open."""
        # Not `django.db.connection`, which looks up the thread's connection for each of a filter's conditions.
        compiler = queryset.query.get_compiler(connection=connections[DEFAULT_DB_ALIAS])
        try:
            sql, params = compiler.as_sql()
        except EmptyResultSet:
            return cls(None, ())
        if limited:
            sql += " LIMIT %s OFFSET %s"
            params = (*params, Param("limit"), Param("offset"))
        plain = all(isinstance(param, (Param, *prepared.PLAIN)) for param in params)
        return cls(sql, tuple(params), kept and plain)

    def run(self, values: Mapping[str, Any], within: float | None = None) -> prepared.Rows:
        """Run with `values` for the open parameters, in one round trip.

        `within` is for a statement that is not `kept`. The database ends it after these seconds, with
        `prepared.TookTooLong`.
        """
        if self.sql is None:
            return []
        bound = [values[param.name] if isinstance(param, Param) else param for param in self.params]
        if self.kept:
            return prepared.fetch(self.sql, bound)
        return prepared.fetch_ordinarily(self.sql, bound, within)


def page_of(
    queryset: QuerySet, columns: tuple[str, ...], ordering: tuple[str, ...], kept: bool = True
) -> Statement:
    """Return the statement of one page: `columns`, then the number of rows in the whole collection."""
    total = CountOf(queryset.order_by().values("pk"))
    page = queryset.order_by(*ordering).annotate(total_rows=total).values_list(*columns, "total_rows")
    return Statement.of(page, limited=True, kept=kept)
