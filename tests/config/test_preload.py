"""The modules that a process imports before it forks others."""

import subprocess
import sys
from pathlib import Path

import django
import pytest

from config import preload
from config.reference import reading

ROOT = Path(__file__).resolve().parents[2]
LOADED = """
import gc, os, sys, threading
import django
import psutil

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()
from config.preload import load

load()
names = ("config.urls", "accounts.admin", "compute.worker.tasks", "config.rsgi", "config.wsgi")
print([name for name in names if name in sys.modules])
print(threading.active_count(), psutil.Process().net_connections("all"), gc.get_freeze_count() > 100_000)
"""


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )


def test_everything_but_a_web_process_is_imported_without_threads_and_connections():
    done = run("-c", LOADED)
    assert done.stdout == "['config.urls', 'accounts.admin', 'compute.worker.tasks']\n1 [] True\n", done.stderr


@pytest.mark.parametrize(
    ("arguments", "made"),
    [
        (["granian", "--workers", "4", "config.rsgi:application"], True),
        (["granian", "--ws", "config.streams:application"], False),
        (["celery", "-A", "config", "worker"], False),
    ],
)
def test_only_web_processes_get_the_reference(monkeypatch, arguments, made):
    done = []
    monkeypatch.setattr(django, "setup", lambda **options: None)
    monkeypatch.setattr(reading, "reference", lambda: done.append("reference"))
    monkeypatch.setattr(preload, "load", lambda: done.append("load"))
    monkeypatch.setattr(preload, "put_off_full_collections", lambda: done.append("put off"))
    monkeypatch.setattr(preload, "resume_full_collections", lambda: done.append("resumed"))
    monkeypatch.setattr(preload, "run_program", lambda *program: done.append([*program]))
    monkeypatch.setattr(sys, "argv", ["preload.py", *arguments])
    preload.main()
    assert done == ["put off", *(["reference"] if made else []), "load", "resumed", arguments]


@pytest.mark.parametrize("arguments", [[], ["python"], ["--help"]])
def test_only_programs_that_fork_are_run(arguments):
    done = run("-m", "config.preload", *arguments)
    assert done.returncode == 1
    assert done.stderr == "usage: python -m config.preload celery or granian, and its arguments\n"
