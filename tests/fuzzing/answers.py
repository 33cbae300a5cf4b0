"""Answers of any client, in the form in which they are checked against the document."""

import json
from typing import Any


class Answer:
    """An answer in the form of the tests' client, so that it can be checked against the document."""

    def __init__(self, status: int, headers: Any, content: bytes):
        self.status_code, self.headers, self.content = status, headers, content

    def __getitem__(self, name: str) -> str:
        return self.headers.get(name, "")

    def json(self) -> Any:
        # preferences are returned as they were sent, with numbers of more digits than Python parses
        return json.loads(self.content, parse_int=lambda digits: int(digits[:40]))
