"""Exporting load balancers from the tables to HAProxy, and writing HAProxy's reports into the tables."""

import fcntl
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db.models import Prefetch, QuerySet
from django.utils.timezone import now

from compute.models import NodeBalancer, NodeBalancerConfig, NodeBalancerNode
from compute.services.nodebalancers import stats
from compute.services.nodebalancers.configs import key_of
from compute.services.nodebalancers.haproxy import control
from compute.services.nodebalancers.haproxy.control import HAProxyError, Seen
from compute.services.nodebalancers.haproxy.render import (
    Places,
    Rendered,
    listeners,
    listeners_of,
    proxy_name,
    render,
)

log = logging.getLogger(__name__)

RELOAD_PATIENCE = 15.0
"""Seconds after which a reload is repeated if HAProxy still runs the previous configuration."""
COUNT_EVERY = 60.0
"""Seconds between two counts of traffic."""
BIND_AGAIN = 60.0
"""Seconds after which listeners that could not be bound are tried again."""
NAME = "haproxy.cfg"

Versions = Mapping[int, int]


class Exporter:
    """Exports the load balancers of some regions, or of all if none is named, to the HAProxy of this host.

    HAProxy keeps running its configuration if the exporter or the database fails.
    """

    def __init__(self, regions: Sequence[str] = (), *, reload: bool = True):
        folder = Path(settings.NODEBALANCER_DIR)
        socket = Path(settings.NODEBALANCER_SOCKET) if settings.NODEBALANCER_SOCKET else folder / "haproxy.sock"
        self.places = Places(folder, socket, settings.NODEBALANCER_USER)
        self.regions = regions
        self.reloads = reload
        self.revision = ""
        self.refused: dict[int, int] = {}
        self.unbindable: set[str] = set()
        self._tried_at = 0.0
        self._versions: Versions | None = None
        self._reloaded_at = 0.0
        self._before: Seen | None = None
        self._counted_at = 0.0
        self._statuses: dict[tuple[int, str], str] = {}

    @property
    def config(self) -> Path:
        return self.places.folder / NAME

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the folder. Raises `BlockingIOError` if another exporter has locked it."""
        self.places.folder.mkdir(parents=True, exist_ok=True)
        self.places.certificates.mkdir(mode=0o700, exist_ok=True)
        # no other user may open the file: a process that can read it can lock it too
        with os.fdopen(os.open(self.places.folder / "lock", os.O_WRONLY | os.O_CREAT, 0o600), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield

    def run(self) -> bool:
        """Export changes, and report statuses and traffic; returns whether the configuration changed."""
        changed = self.export()
        self.report()
        return changed

    # --- from the tables ------------------------------------------------------------------------------------

    def export(self) -> bool:
        """Write the configuration and reload HAProxy, if the version of any load balancer has changed.

        The versions are read first: a load balancer that changes while the rest is read is exported next time. Load
        balancers that HAProxy refuses by themselves are left out. Raises `HAProxyError` if it refuses the
        configuration even so.
        """
        versions = dict(self._balancers().values_list("pk", "version"))
        again = self.unbindable and time.monotonic() - self._tried_at >= BIND_AGAIN
        if versions == self._versions and not again:
            return False
        balancers = list(self._balancers().prefetch_related(_configs()).order_by("pk"))
        self._try_to_bind(balancers)
        rendered = self._accepted(balancers, versions)
        written = self._write(rendered)
        if written and self.reloads:
            self.reload()
        # set last, so that the next run repeats everything after a failure
        self._versions = versions
        return written

    def _balancers(self) -> QuerySet[NodeBalancer]:
        rows = NodeBalancer.objects.order_by()
        return rows.filter(region__in=self.regions) if self.regions else rows

    def _try_to_bind(self, balancers: list[NodeBalancer]) -> None:
        """Find the listeners that cannot be bound: on ports that the host uses itself, or addresses it lacks.

        Listeners in the present file were tried before and stay, so that HAProxy never loses a listener that it has
        bound.
        """
        present = listeners_of(self.config.read_text()) if self.config.exists() else set()
        wanted = {each for balancer in balancers for config in balancer.configs.all()
                  for each in listeners(balancer, config)}  # fmt: skip
        self.unbindable = {each for each in sorted(wanted - present) if not control.bindable(each)}
        self._tried_at = time.monotonic()

    def _accepted(self, balancers: list[NodeBalancer], versions: Versions) -> Rendered:
        """Return the configuration that HAProxy accepts, without the load balancers it refuses.

        So one customer's mistake does not delay the changes of others.
        """
        keys = _keys(balancers)
        self.refused = {pk: version for pk, version in self.refused.items() if versions.get(pk) == version}
        asked = [balancer for balancer in balancers if balancer.pk not in self.refused]
        rendered = render(asked, keys, self.places, self.unbindable)
        self._store(rendered)
        try:
            self._check(rendered)
        except HAProxyError as error:
            log.warning("HAProxy refuses the configuration; each load balancer is checked alone: %s", error)
        else:
            return rendered
        good = [balancer for balancer in asked if self._accepts(balancer, keys)]
        rendered = render(good, keys, self.places, self.unbindable)
        self._check(rendered)
        self.refused |= {balancer.pk: balancer.version for balancer in asked if balancer not in good}
        return rendered

    def _accepts(self, balancer: NodeBalancer, keys: dict[int, str]) -> bool:
        try:
            self._check(render([balancer], keys, self.places, self.unbindable))
        except HAProxyError as error:
            log.error("load balancer %s (%s) is left out: %s", balancer.pk, balancer.label, error)
            return False
        return True

    def _check(self, rendered: Rendered) -> None:
        path = self.config.with_suffix(".new")
        _write_whole(path, rendered.text)
        control.check(settings.NODEBALANCER_HAPROXY, path)

    def _store(self, rendered: Rendered) -> None:
        """Write the certificates. Their names derive from their content, so no used one is ever overwritten."""
        if not self.places.states.exists():
            _write_whole(self.places.states, control.NO_STATES)
        for path, pem in rendered.certificates.items():
            if not path.exists():
                _write_whole(path, pem)

    def _write(self, rendered: Rendered) -> bool:
        """Put the checked configuration in place and delete old certificates; returns whether it changed."""
        self.revision = rendered.revision
        new = not self.config.exists() or self.config.read_text() != rendered.text
        if new:
            os.replace(self.config.with_suffix(".new"), self.config)
        # including those of left-out load balancers, or of an exporter that was stopped in between
        for path in set(self.places.certificates.iterdir()) - set(rendered.certificates):
            path.unlink()
        return new

    def reload(self) -> None:
        """Reload HAProxy and pass the servers' states on, so that a node that is down gets no traffic meanwhile."""
        self._reloaded_at = time.monotonic()
        try:
            self.report_now(count=True)
            self._keep_states()
        except HAProxyError as error:
            log.info("the states of servers cannot be read before the reload: %s", error)
        control.reload(settings.NODEBALANCER_RELOAD)
        log.info("reloaded HAProxy with %s", self.revision)

    def _keep_states(self) -> None:
        unwatched = {"check_type": NodeBalancerConfig.Check.NONE, "check_passive": False}
        watched = NodeBalancerConfig.objects.exclude(**unwatched)
        backends = {proxy_name(*pair) for pair in watched.values_list("nodebalancer_id", "pk")}
        states = control.states_of(control.ask(self.places.socket, "show servers state"), backends)
        _write_whole(self.places.states, states)

    # --- into the tables ------------------------------------------------------------------------------------

    def report(self) -> None:
        """As `report_now`, and reload again if HAProxy runs another revision. A missing answer is logged."""
        try:
            seen = self.report_now()
        except HAProxyError as error:
            log.warning("HAProxy does not answer: %s", error)
            return
        late = time.monotonic() - self._reloaded_at > RELOAD_PATIENCE
        if self.reloads and seen.revision != self.revision and late:
            log.error("HAProxy runs %s and not %s: its log says why", seen.revision or "nothing", self.revision)
            self.reload()

    def report_now(self, *, count: bool = False) -> Seen:
        """Write HAProxy's statuses of nodes at once, and its traffic each minute or, with `count`, at once too.

        The first report only starts the counting, because another exporter may have counted the traffic before it.
        """
        seen = control.read_state(self.places.socket)
        due = count or time.monotonic() - self._counted_at >= COUNT_EVERY
        if due or seen.statuses != self._statuses:
            stats.see(seen.statuses)
            self._statuses = seen.statuses
        if self._before is not None and due:
            stats.record(control.grown(self._before, seen), now())
        if self._before is None or due:
            self._before, self._counted_at = seen, time.monotonic()
        return seen

    def follows(self) -> bool:
        """Tell whether HAProxy runs the last exported configuration. Raises `HAProxyError` if it does not
        answer."""
        return control.read_state(self.places.socket).revision == self.revision


def _configs() -> Prefetch:
    nodes = Prefetch("nodes", NodeBalancerNode.objects.order_by("pk"))
    return Prefetch("configs", NodeBalancerConfig.objects.order_by("pk").prefetch_related(nodes))


def _keys(balancers: list[NodeBalancer]) -> dict[int, str]:
    """Return the private keys of all configs that have one. Keys that cannot be decrypted are logged."""
    keys: dict[int, str] = {}
    for config in (config for balancer in balancers for config in balancer.configs.all() if config.encrypted):
        if key := key_of(config):
            keys[config.pk] = key
        else:
            log.error("no key opens the private key of config %s, which is left out", config.pk)
    return keys


def _write_whole(path: Path, text: str) -> None:
    """Replace a whole file at once by one that no other user may read."""
    part = path.with_name(f".{path.name}.part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
