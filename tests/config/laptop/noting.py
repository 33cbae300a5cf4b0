"""A Celery application like ours with one task that writes a note, for a worker process of a test."""

from pathlib import Path

from config.celery import app

NAME = "tests.note"


@app.task(name=NAME)
def note(folder: str, word: str) -> None:
    (Path(folder) / word).touch()
