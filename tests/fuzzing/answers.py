"""Answers of whichever client, in the form that they are held against the document in."""

import json
from typing import Any


class Answer:
    """An answer as the tests' client has them, so that it can be held against the document."""

    def __init__(self, status: int, headers: Any, content: bytes):
        self.status_code, self.headers, self.content = status, headers, content

    def __getitem__(self, name: str) -> str:
        return self.headers.get(name, "")

    def json(self) -> Any:
        # preferences are given back as they were sent, with numbers of more digits than Python reads
        return json.loads(self.content, parse_int=lambda digits: int(digits[:40]))
