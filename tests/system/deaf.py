"""Our Celery application, whose channels may take no messages. For a worker process of a test."""

import os
from pathlib import Path

from kombu.transport.virtual import QoS

from config.celery import app

__all__ = ["app"]

DEAF = "DEAF"
"""The variable with the path of a file. While the file exists, it says which channels are deaf."""
THIS_CHANNEL, EVERY_CHANNEL = "this", "every"

_can_consume = QoS.can_consume
_deaf: list[QoS] = []


def can_consume(qos: QoS) -> bool:
    path = Path(os.environ[DEAF])
    if path.exists():
        if not _deaf or path.read_text() == EVERY_CHANNEL:
            _deaf.append(qos)
        if qos in _deaf:
            return False
    return _can_consume(qos)


if DEAF in os.environ:  # a test that only reads the names of this module stays as it is
    QoS.can_consume = can_consume
