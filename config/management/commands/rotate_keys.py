"""``manage.py rotate_keys``: encrypt all secrets with the first key, so that the other keys can be removed."""

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import click
from cryptography.fernet import InvalidToken
from django.apps import apps
from django.core.management.base import BaseCommand, CommandError
from django.db.models import Model, QuerySet

from config.display.plurals import counted
from config.encryption import EncryptedField, reencrypt

BATCH = 200


@dataclass(frozen=True)
class Column:
    """One encrypted column of one table."""

    model: type[Model]
    name: str

    def __str__(self) -> str:
        return f"{self.model._meta.label}.{self.name}"

    def count(self) -> int:
        return self._filled().count()

    def batches(self) -> Iterator[list[tuple[Any, bytes]]]:
        """Yield primary keys and encrypted values, in order.

        New rows may be missed: the first key has encrypted them.
        """
        rest = self._filled().order_by("pk").values_list("pk", self.name)
        batch = list(rest[:BATCH])
        while batch:
            yield batch
            batch = list(rest.filter(pk__gt=batch[-1][0])[:BATCH])

    def replace(self, pk: Any, old: bytes, new: bytes) -> bool:
        """Replace `old` by `new`, unless a request or a job wrote another value meanwhile.

        Return whether it was replaced.
        """
        return bool(self._filled().filter(pk=pk, **{self.name: old}).update(**{self.name: new}))

    def _filled(self) -> QuerySet[Model]:
        return self.model._base_manager.exclude(**{self.name: None})


class Command(BaseCommand):
    help = (
        "Encrypt all secrets with the first of ENCRYPTION_KEYS. The other processes can keep running. You can "
        "stop the command and run it again: finished secrets are skipped."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--check",
            action="store_true",
            help="only count the secrets; exit with code 1 if an older key is in use",
        )

    def handle(self, *, check: bool, **options: Any) -> None:
        self.done = self.changed = 0
        self.lost: list[str] = []
        try:
            self._reencrypt_all(check)
        except KeyboardInterrupt:
            finished = self.done + self.changed + len(self.lost)
            message = f"Stopped after {counted(finished, 'secret')}: run the command again to continue."
            raise CommandError(message, returncode=130) from None
        self._report(check)

    def _reencrypt_all(self, check: bool) -> None:
        columns = list(encrypted_columns())
        with click.progressbar(
            length=sum(column.count() for column in columns), label="Secrets", file=sys.stderr, show_pos=True
        ) as bar:
            for column in columns:
                for batch in column.batches():
                    for pk, encrypted in batch:
                        self._reencrypt(column, pk, bytes(encrypted), check)
                    bar.update(len(batch))

    def _reencrypt(self, column: Column, pk: Any, encrypted: bytes, check: bool) -> None:
        try:
            renewed = reencrypt(encrypted)
        except InvalidToken:
            self.lost.append(f"{column} of {pk}")
            return
        if renewed is None:
            self.done += 1
        elif check or column.replace(pk, encrypted, renewed):
            self.changed += 1

    def _report(self, check: bool) -> None:
        words = "to do" if check else "re-encrypted"
        self.stdout.write(f"{self.changed} {words}, {self.done} already use the first key.")
        if self.lost:
            for which in self.lost:
                self.stdout.write(f"no key decrypts {which}")
            raise CommandError(
                f"No key decrypts {counted(len(self.lost), 'secret')}, which were not changed. Add the key that "
                "encrypted them to the end of ENCRYPTION_KEYS, and run the command again."
            )
        if check and self.changed:
            raise CommandError("Older keys are in use. Run the command without --check before you remove a key.")


def encrypted_columns() -> Iterator[Column]:
    """Return every `EncryptedField`."""
    for model in apps.get_models():
        for field in model._meta.local_concrete_fields:
            if isinstance(field, EncryptedField):
                yield Column(model, field.name)
