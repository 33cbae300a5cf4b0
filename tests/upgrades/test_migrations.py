"""Landed migrations are never edited, and the previous release can run during new ones."""

import hashlib
from pathlib import Path

import pytest
from django.apps import apps
from django_migration_linter import MigrationLinter

from tests.baselines import stale

ROOT = Path(__file__).parents[2]
FROZEN = Path(__file__).with_name("frozen.txt")
BEFORE = {
    "accounts": "0002_encrypted",
    "compute": "0006_encrypted",
    "managed": "0002_encrypted",
    "regions": "0002_retired",
    "tags": "0001_initial",
}
"""The last migration of each app from before the rule that old code must run during a migration."""


def migrations() -> dict[str, str]:
    """Return the digest of each migration of ours, by its path from the top of the tree."""
    files = sorted(path for app in BEFORE for path in (ROOT / app / "migrations").glob("[0-9]*.py"))
    return {str(path.relative_to(ROOT)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def recorded() -> dict[str, str]:
    lines = FROZEN.read_text().splitlines()
    return {path: digest for digest, path in (line.split("  ") for line in lines)}


def test_every_app_of_ours_is_looked_at():
    ours = {app.label for app in apps.get_app_configs() if (ROOT / app.label / "migrations").is_dir()}
    assert ours == set(BEFORE)


def test_merged_migrations_are_never_edited(write_baselines):
    found, frozen = migrations(), recorded()
    edited = [path for path, digest in frozen.items() if found.get(path) != digest]
    assert edited == [], "databases have had these: write another migration (docs/decisions/migrations.md)"
    if write_baselines:
        FROZEN.write_text("".join(f"{digest}  {path}\n" for path, digest in found.items()))
    assert recorded() == found, f"new migrations: {stale(FROZEN.name)}"


def faults(app: str, name: str, capsys) -> str:
    """Return the linter's printed errors about a migration. Empty if it finds none."""
    linter = MigrationLinter(
        str(ROOT), no_cache=True, warnings_as_errors_tests=["CREATE_INDEX", "CREATE_INDEX_EXCLUSIVE", "DROP_INDEX"]
    )
    linter.lint_migration(linter.migration_loader.get_migration(app, name))
    output = capsys.readouterr().out
    return output if linter.has_errors else ""


@pytest.mark.django_db
def test_new_migrations_are_safe_for_old_code(capsys):
    names = [(Path(path).parts[0], Path(path).stem) for path in migrations()]
    wrong = [faults(app, name, capsys) for app, name in names if name > BEFORE[app]]
    assert not any(wrong), "\n".join(wrong)


@pytest.mark.django_db
def test_renaming_a_column_would_not_be(capsys):
    """The linter exists to refuse migrations like the last of the old ones."""
    assert "RENAMING columns" in faults("compute", "0004_notified_at", capsys)
