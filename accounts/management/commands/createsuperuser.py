"""``manage.py createsuperuser``: Django's command, with messages that name the invalid field and the reason."""

import os
from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.db.models import Field

from accounts.models import User
from accounts.services.users import problem_with_name


class Command(createsuperuser.Command):
    def handle(self, *args: Any, **options: Any) -> str | None:
        """Check the values from options and the environment: Django only says that one of them is invalid."""
        problems = []
        for name in (User.USERNAME_FIELD, *User.REQUIRED_FIELDS):
            given = options.get(name)
            if given is None and not options["interactive"]:
                given = os.environ.get(f"DJANGO_SUPERUSER_{name.upper()}")
            if given is not None and (problem := _problem(User._meta.get_field(name), given)):
                problems.append(problem)
        if problems:
            raise CommandError("\n".join(problems))
        return super().handle(*args, **options)

    def get_input_data(self, field: Field, message: str, default: str | None = None) -> Any:
        """Return the value typed. If it is invalid, print a line with the reason and return None."""
        typed = input(message) or default or ""
        if problem := _problem(field, typed):
            self.stderr.write(f"Error: {problem}")
            return None
        return field.clean(typed, None)


def _problem(field: Any, value: str) -> str | None:
    if field.name == User.USERNAME_FIELD:
        found = problem_with_name(value)
        return f"username: {found}" if found else None
    try:
        field.clean(value, None)
    except ValidationError as error:
        return f"{field.name}: {' '.join(error.messages)}"
    return None
