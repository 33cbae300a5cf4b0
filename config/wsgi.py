"""The WSGI entry point of the API and the admin."""

import gc
import os

import django

from config import word
from config.db.connections import lock_waits
from config.errors import Problem
from config.processes.starting import warn_at_start
from config.web.handler import Handler

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup(set_prefix=False)
lock_waits.limited = True

if word.IS_SET:
    Problem.spell = word.spell

warn_at_start()
application = Handler()

# All objects imported so far live as long as the process. They are excluded from garbage collection, which saves
# about a tenth of a small request (measured).
gc.collect()
gc.freeze()
