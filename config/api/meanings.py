"""Descriptions of fields whose values have meanings of their own."""

from collections.abc import Mapping


class Meanings(str):
    """A `help_text` with the meaning of each value of an enum. The document shows both."""

    values: Mapping[str, str]

    def __new__(cls, text: str, values: Mapping[str, str]) -> "Meanings":
        made = super().__new__(cls, text)
        made.values = values
        return made

    def __getnewargs__(self) -> tuple[str, Mapping[str, str]]:  # type: ignore[override] # fields are copied
        return str(self), self.values

    @property
    def table(self) -> str:
        """The text followed by the values, as Markdown."""
        rows = "\n".join(f"| `{value}` | {meaning} |" for value, meaning in self.values.items())
        return f"{self}\n\n| value | meaning |\n|---|---|\n{rows}"
