"""``python -m config.preload PROGRAM ARGUMENTS``: granian or Celery, with the application imported before it forks.

The processes of a program share the memory of the modules that their parent imported (docs/operating.md#memory).
"""

import gc
import os
import sys
from importlib import import_module

import django

from config.processes.garbage import put_off_full_collections, resume_full_collections
from config.processes.programs import run_program

PROGRAMS = ("celery", "granian")
STREAMS = "config.streams:application"
"""The application of stream processes, which show no API reference."""
MODULES = (
    "celery.apps.beat",
    "celery.apps.worker",
    "celery.bin.celery",
    "celery.concurrency.prefork",
    "celery.contrib.migrate",
    "config.server.application",
    "config.urls",
    "config.web.handler",
    "granian.cli",
)
"""Modules that the processes need besides those of tasks and settings."""


def load() -> None:
    """Import what the processes need. Django must be set up.

    `config.wsgi` and `config.rsgi` are not imported here: they set up a web process.
    """
    from config.celery import app  # needs the settings

    app.loader.import_default_modules()
    app.finalize()
    named = (app.conf.worker_consumer, app.conf.beat_scheduler, *app.steps["consumer"])
    for module in (*MODULES, *(name.partition(":")[0] for name in named)):
        import_module(module)
    # A collection writes to the header of each object and so copies its page. Frozen objects are left alone.
    gc.collect()
    gc.freeze()


def main() -> None:
    """Run the program in `sys.argv`. Raises `SystemExit` if it is not one of `PROGRAMS`."""
    if not (arguments := sys.argv[1:]) or arguments[0] not in PROGRAMS:
        sys.exit(f"usage: python -m config.preload {' or '.join(PROGRAMS)}, and its arguments")
    put_off_full_collections()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup(set_prefix=False)
    if arguments[0] == "granian" and STREAMS not in arguments:
        from config.reference.reading import reference  # needs the settings

        reference()  # made once, instead of by each process at its first page of the reference
    load()
    resume_full_collections()
    run_program(*arguments)


if __name__ == "__main__":
    main()
