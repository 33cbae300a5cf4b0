"""SQL that is compiled once from a queryset and run many times, giving rows and no model instances.

Building a queryset and compiling it takes longer than the database takes to answer it. So the kit builds the query
of each list and each detail once, with a `Param` wherever a value of the request belongs, keeps the SQL, and from
then on only binds and fetches. The SQL is still the ORM's: none by hand has to be kept in step with the models.
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
"""The methods of the values that a `Param` stands for."""


class DependsOnRequest(Exception):
    """A queryset depends on more of a request than its SQL could leave open."""


class Param(Expression):
    """Stands in a queryset for a value that is known only when the SQL runs.

    It has no value that code could compare, or write into a text: the SQL would be wrong for other requests. Such
    code gets a `DependsOnRequest`.
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
    """A request of which only the user is known, in place of a real one."""

    def __init__(self, user: SymbolicActor | None):
        self.user = user

    def __getattr__(self, name: str) -> Any:
        raise DependsOnRequest(f"request.{name}")


class SymbolicPath(Mapping[str, Param]):
    """Path parameters that are left open: any name gives its `Param`."""

    def __getitem__(self, name: str) -> Param:
        return Param(f"path.{name}")

    def __contains__(self, name: object) -> bool:
        raise DependsOnRequest(f"path.{name}")

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def bindings(actor: Any, path: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the `Param`s that `SymbolicActor` and `SymbolicPath` leave open."""
    values = {f"path.{name}": value for name, value in path.items()}
    if actor is not None:
        values["actor.account_id"] = actor.account_id
        values["actor.user_id"] = actor.user_id
        values["actor.username"] = actor.username
    return values


@dataclass(frozen=True, slots=True)
class Statement:
    """Compiled SQL. `sql` is None where the ORM found that no row can match.

    A statement that is `kept` is prepared on each connection, unless it has a parameter of an uncommon type.
    """

    sql: str | None
    params: tuple[Any, ...]
    kept: bool = True

    @classmethod
    def of(cls, queryset: QuerySet, limited: bool = False, kept: bool = True) -> "Statement":
        """Compile `queryset`; with `limited`, leave ``limit`` and ``offset`` open."""
        # not `django.db.connection`, which finds the thread's connection anew for each of a filter's conditions
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
        """Run with `values` for the open parameters. One round trip.

        With `within`, for what is not `kept`, the database ends it after so many seconds: `prepared.TookTooLong`.
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
    """The statement of one page: `columns`, then the number of rows in the whole collection."""
    total = CountOf(queryset.order_by().values("pk"))
    page = queryset.order_by(*ordering).annotate(total_rows=total).values_list(*columns, "total_rows")
    return Statement.of(page, limited=True, kept=kept)
