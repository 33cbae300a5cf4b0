"""The customer who attacks, with an account of many rows and an address of its own."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import count

from django.db import transaction

from accounts.models import Account, User
from accounts.services.tokens import create_token
from compute.models import Domain, DomainRecord
from tests.drill.client import ask
from tests.drill.crowding.load import Load
from tests.drill.installation import Installation

_numbers = count(2)
BATCH = 1_000
MASTER = {"type": "master", "soa_email": "dns@example.com"}


@dataclass(frozen=True, slots=True)
class Form:
    """The size of the installation and of the attacks, and whether times are judged.

    `processes` is the number of web processes, and `workers` that of workers besides the one of `make serve`.
    `quiet` and `during` are the seconds for which the others are measured. A large account has `rows` domains, and
    a large domain has `records` records. `lock_seconds` is for how many seconds rows are locked.
    """

    processes: int
    workers: int
    quiet: float
    during: float
    passwords: int
    filters: int
    rows: int
    records: int
    copies: int
    lock_seconds: float
    posts: int
    unread: int
    pages: int
    judges_times: bool

    @property
    def tries(self) -> int:
        """The highest number of tries of an attack. On a busy machine, an attack may fail by chance."""
        return 2 if self.judges_times else 1


FULL_RUN = Form(
    processes=4, workers=1, quiet=6, during=9, passwords=117, filters=18, rows=10_000, records=11_500, copies=4,
    lock_seconds=20, posts=8, unread=2_000, pages=36, judges_times=True,
)  # fmt: skip
QUICK_RUN = Form(
    processes=2, workers=0, quiet=0.25, during=1, passwords=6, filters=2, rows=1_000, records=500, copies=2,
    lock_seconds=1, posts=4, unread=50, pages=4, judges_times=False,
)  # fmt: skip


@dataclass
class Attacker:
    """An account with an unrestricted user, who sends requests to `port` from the loopback address `address`.

    `web` is the process id above the web processes there, `silent` the port of a name server that never answers.
    `sent` counts the statuses of the answers, 0 without an answer.
    """

    site: Installation
    port: int
    web: int
    silent: int
    form: Form
    name: str
    sent: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        number = next(_numbers)
        self.address = f"127.0.0.{number}"
        self.name = f"{self.name.replace(' ', '-')}-{number}"
        with transaction.atomic():
            self.account = Account.objects.create(
                company=self.name, email=f"{self.name}@example.com", extra_ipv4=6, trust_level="unlimited"
            )
            user = User.objects.create_user(self.name, f"{self.name}@example.com", account=self.account)
            self.token = create_token(user, "drill")[1]

    def ask(self, method: str, path: str, body: dict | bytes | None = None, **headers: str) -> int:
        """Send one request on a connection of its own, count its status and return it."""
        status, _ = ask(self.port, self.token, method, path, body, **headers)
        with self._lock:
            self.sent[str(status)] += 1
        return status

    def made(self, path: str, body: dict) -> dict:
        """Return the answer to a POST before the attack. Raises RuntimeError if it is refused."""
        status, answer = ask(self.port, self.token, "POST", path, body)
        if status != 200:
            raise RuntimeError(f"POST {path} is answered {status}: {answer}")
        return dict(answer)

    def add_domains(self) -> None:
        """Give the account as many domains as a large account has."""
        Domain.objects.bulk_create(
            (
                Domain(
                    account=self.account,
                    label=f"{number}.{self.name}.example.com",
                    type="master",
                    soa_email="a@b.cd",
                )
                for number in range(self.form.rows)
            ),
            BATCH,
        )

    def add_zone(self) -> int:
        """Give the account a domain with many records; return its id."""
        domain = Domain.objects.create(account=self.account, label=f"{self.name}.example.com", **MASTER)
        DomainRecord.objects.bulk_create(
            (
                DomainRecord(domain=domain, type="A", name=f"www-{number}", target="203.0.113.7")
                for number in range(self.form.records)
            ),
            BATCH,
        )
        return domain.pk

    def send(self, requests: Sequence[bytes], every: float = 0.0) -> None:
        """Send these requests, `every` seconds apart, and count the answers."""
        load = Load(self.port, self.address)
        try:
            answers = load.send(iter(requests), every, float("inf"))
        finally:
            load.close()
        self.sent.update(str(each.status) for each in answers)

    def sending(self, requests: Sequence[bytes], every: float = 0.0) -> AbstractContextManager[None]:
        """Return an attack that only sends these requests, `every` seconds apart."""
        return playing(lambda stopped: self.send(requests, every))


Attack = Callable[[Attacker], AbstractContextManager[None]]
"""Prepares an attack and returns the context that plays it. The context ends when the attack has ended."""


@contextmanager
def playing(play: Callable[[threading.Event], None]) -> Iterator[None]:
    """Play an attack in a thread for the length of the block, and wait until it has ended.

    `play` ends soon after its event is set.
    """
    stopped = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        played = pool.submit(play, stopped)
        try:
            yield
        finally:
            stopped.set()
        played.result()
