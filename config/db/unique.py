"""Values that must be unique, named along with whatever else is wrong."""

from django.core.exceptions import ValidationError
from django.db.models import Model, UniqueConstraint

from config.errors import Problems


def note_taken(row: Model, problems: Problems) -> None:
    """Note each value of `row` that another row has, where `problems` says that the request fails anyway.

    A request without other problems is not asked about: the constraint itself refuses it, which costs no query and
    knows no race. `row` needs just the columns of its constraints; one with a key that was read from the database
    is not in its own way. Constraints whose declaration gives no reason of its own are not looked at.
    """
    if not problems:
        return
    for constraint in row._meta.constraints:
        if isinstance(constraint, UniqueConstraint) and constraint.violation_error_code:
            try:
                constraint.validate(type(row), row)
            except ValidationError as taken:
                problems.add(constraint.violation_error_code, str(taken.message))
