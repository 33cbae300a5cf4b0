"""The WSGI entry point of the API and the admin."""

import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()

# Everything imported so far lives as long as the process: keep the collector from walking it
# at every collection (measured: about a tenth of a small request).
gc.collect()
gc.freeze()
