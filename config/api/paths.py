"""Path converters. What they do not match is an unknown path: 404, whatever the bytes."""

from django.urls import register_converter

BIGGEST = 2**63 - 1


class IDConverter:
    """A numeric id that fits a bigint. ``/compute/instances/99999999999999999999`` does not exist."""

    regex = "[0-9]{1,19}"

    def to_python(self, value: str) -> int:
        number = int(value)
        if number > BIGGEST:
            raise ValueError
        return number

    def to_url(self, value: int) -> str:
        return str(value)


class SlugConverter:
    """A string id. It may hold slashes (``compute/debian11``), which reach us decoded in either spelling."""

    regex = r"[^\x00]+"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(IDConverter, "id")
register_converter(SlugConverter, "slug_id")
