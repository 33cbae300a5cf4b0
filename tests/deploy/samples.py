"""The samples of docs/deploy, as the tests read them."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
