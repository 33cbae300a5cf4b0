"""``manage.py balance``: configure this host's HAProxy from the load balancers of its regions."""

import logging
import signal
import threading
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, InterfaceError, connection

from compute.services.nodebalancers.haproxy.control import HAProxyError
from compute.services.nodebalancers.haproxy.export import RELOAD_PATIENCE, Exporter
from regions.models import Region

log = logging.getLogger(__name__)


class Command(BaseCommand):
    help = (
        "Write HAProxy's configuration and certificates for the load balancers of the given regions, check them "
        "and reload HAProxy. With --watch, repeat this, and report the status and the traffic of nodes."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--region",
            action="append",
            default=[],
            help="region that this host serves; can be repeated (default: all regions)",
        )
        parser.add_argument("--watch", action="store_true", help="run until stopped")
        parser.add_argument("--every", type=float, default=2.0, help="seconds between two runs (default: 2)")
        parser.add_argument(
            "--no-reload",
            action="store_true",
            help="do not reload HAProxy, for example because it does not run yet",
        )

    def handle(self, *, region: list[str], watch: bool, every: float, no_reload: bool, **options: Any) -> None:
        unknown = set(region) - set(Region.objects.filter(pk__in=region).values_list("pk", flat=True))
        if unknown:
            raise CommandError(f"There is no region {', '.join(sorted(unknown))}.")
        exporter = Exporter(region, reload=not no_reload)
        try:
            with exporter.alone():
                if watch:
                    self._watch(exporter, every)
                else:
                    self._once(exporter)
        except BlockingIOError as error:
            raise CommandError(f"Another exporter writes to {exporter.places.folder}.") from error

    def _once(self, exporter: Exporter) -> None:
        try:
            written = exporter.export()
            if exporter.reloads:
                if not written and not exporter.follows():
                    # an earlier run wrote the configuration, and HAProxy does not run it yet
                    exporter.reload()
                self._await(exporter)
                exporter.report_now()
        except HAProxyError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{exporter.config}: {'written' if written else 'unchanged'} ({exporter.revision})")
        if exporter.refused:
            ids = ", ".join(map(str, exporter.refused))
            raise CommandError(f"Load balancers that are left out, because HAProxy refuses them: {ids}")
        if exporter.unbindable:
            addresses = ", ".join(sorted(exporter.unbindable))
            raise CommandError(f"Addresses that are left out, because HAProxy cannot listen there: {addresses}")

    def _await(self, exporter: Exporter) -> None:
        """Wait until HAProxy runs the new configuration. Raises `CommandError` after `RELOAD_PATIENCE` seconds."""
        deadline = time.monotonic() + RELOAD_PATIENCE
        while time.monotonic() < deadline:
            try:
                if exporter.follows():
                    return
            except HAProxyError as error:
                log.debug("HAProxy does not run the new configuration yet: %s", error)
            time.sleep(0.05)
        raise CommandError("HAProxy was reloaded and does not run the new configuration. Its log has the reason.")

    def _watch(self, exporter: Exporter, every: float) -> None:
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        while not stopped.is_set():
            try:
                exporter.run()
            except HAProxyError as error:
                log.error("%s", error)
            except (DatabaseError, InterfaceError) as error:
                # HAProxy keeps running meanwhile
                log.error("the database cannot be read: %s", error)
                connection.close()
            stopped.wait(every)
