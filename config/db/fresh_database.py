"""The tables of an empty database, created as the migrations leave them (docs/decisions/fresh-database.md)."""

from django.db import router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import Migration, operations
from django.db.migrations.graph import MigrationGraph
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.recorder import MigrationRecorder

Key = tuple[str, str]
"""App and name of a migration."""

# Any number, if nothing else in the database takes this advisory lock.
ADVISORY_LOCK = 0x736B65727279

# Operations whose whole effect is in the final state of the migrations. After a renaming, default names of
# sequences and constraints differ. Django reads these from the database when it needs them, except for the name of
# the second index of a text column. No column with such an index was renamed.
SCHEMA_OPERATIONS = (
    operations.CreateModel,
    operations.DeleteModel,
    operations.AlterModelOptions,
    operations.AlterModelManagers,
    operations.AlterUniqueTogether,
    operations.AddField,
    operations.AlterField,
    operations.RenameField,
    operations.RenameModel,
    operations.RemoveField,
    operations.AddIndex,
    operations.RemoveIndex,
    operations.AddConstraint,
    operations.AlterConstraint,
    operations.RemoveConstraint,
)
# Migrations whose functions and SQL only rewrite rows of earlier releases: those of packages, and two of ours that
# were released without ``elidable=True``. All others of ours have it.
ROWS_ONLY: set[Key] = {
    ("auth", "0011_update_proxy_permissions"),
    ("compute", "0030_usage"),
    ("contenttypes", "0002_remove_content_type_name"),
    ("managed", "0003_help_texts"),
    ("oauth2_provider", "0006_alter_application_client_secret"),
    ("oauth2_provider", "0012_add_token_checksum"),
    ("oauth2_provider", "0015_refreshtoken_token_checksum"),
    ("oauth2_provider", "0019_application_registration_source"),
}


def create_tables(connection: BaseDatabaseWrapper) -> int:
    """Create the tables of an empty database and record their migrations as applied. Return their number.

    One transaction: all or nothing. Another process that calls this at the same moment waits. If the database has a
    table of this project or a migration, or if the migrations conflict, the function does nothing and returns 0.
    Migrations that do more than define tables, and those that depend on them, are left for ``migrate`` to apply one
    by one.
    """
    loader = MigrationLoader(connection)
    if loader.applied_migrations or loader.detect_conflicts():
        return 0
    keys = at_once(loader)
    state = loader.project_state(leaves(loader.graph, keys))
    apps = state.apps
    models = [
        model
        for model in (apps.get_model(*key) for key in state.models)
        if model._meta.can_migrate(connection) and router.allow_migrate_model(connection.alias, model)
    ]
    with connection.schema_editor(atomic=True) as editor:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ADVISORY_LOCK])
        if {model._meta.db_table for model in models} & set(connection.introspection.table_names()):
            return 0
        for model in models:
            editor.create_model(model)
        recorder = MigrationRecorder(connection)
        recorder.ensure_schema()
        # Like Django's executor: a squashed migration is recorded in addition to the migrations that it replaces.
        done = [name for key in keys for name in (*loader.graph.nodes[key].replaces, key)]
        recorder.migration_qs.bulk_create(recorder.Migration(app=app, name=name) for app, name in done)
    return len(keys)


def at_once(loader: MigrationLoader) -> list[Key]:
    """Return the migrations whose whole effect is in the final state, in the order in which they would be
    applied.
    """
    keys: list[Key] = []
    for target in loader.graph.leaf_nodes():
        for key in loader.graph.forwards_plan(target):
            parents = {parent.key for parent in loader.graph.node_map[key].parents}
            if key not in keys and parents <= set(keys) and shapes_tables(loader.graph.nodes[key]):
                keys.append(key)
    return keys


def shapes_tables(migration: Migration) -> bool:
    """Tell whether applying `migration` to a database without rows only defines tables."""
    rows_only = (migration.app_label, migration.name) in ROWS_ONLY
    return all(_shapes(operation, rows_only) for operation in migration.operations)


def _shapes(operation: Operation, rows_only: bool) -> bool:
    if isinstance(operation, operations.SeparateDatabaseAndState):
        # Its SQL for tables with rows, and the resulting state.
        elided = all(each.elidable for each in operation.database_operations)
        return elided and all(_shapes(each, rows_only) for each in operation.state_operations)
    rewrites_rows = isinstance(operation, operations.RunPython | operations.RunSQL)
    return type(operation) in SCHEMA_OPERATIONS or (rewrites_rows and (rows_only or operation.elidable))


def leaves(graph: MigrationGraph, keys: list[Key]) -> list[Key]:
    """Return the migrations among `keys` that no other one of `keys` depends on."""
    inner = {parent.key for key in keys for parent in graph.node_map[key].parents}
    return [key for key in keys if key not in inner]
