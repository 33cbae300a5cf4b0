"""Values that must be unique, reported together with the other problems of a request."""

from django.core.exceptions import ValidationError
from django.db.models import Model, UniqueConstraint

from config.errors import Problems


def note_taken(row: Model, problems: Problems) -> None:
    """Add a problem for each value of `row` that another row has, if `problems` says that the request fails anyway.

    A request without other problems makes no query: the constraint itself refuses it, which costs nothing and has
    no race. `row` needs only the columns of its constraints. A row whose key was read from the database does not
    conflict with itself. Constraints that declare no reason of their own are skipped.
    """
    if not problems:
        return
    for constraint in row._meta.constraints:
        if isinstance(constraint, UniqueConstraint) and constraint.violation_error_code:
            try:
                constraint.validate(type(row), row)
            except ValidationError as taken:
                problems.add(constraint.violation_error_code, str(taken.message))
