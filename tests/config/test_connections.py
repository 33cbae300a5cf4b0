"""What the project wants of its database connections."""

import pytest
from django.db import connection

pytestmark = pytest.mark.django_db


def test_a_host_that_froze_in_a_transaction_holds_nothing_for_ever(settings):
    settings.TRANSACTION_IDLE_LIMIT = 1.0
    frozen = connection.copy()
    frozen.set_autocommit(False)
    try:
        with frozen.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(8162)")
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '60s'")
            cursor.execute("SELECT pg_advisory_xact_lock(8162)")
    finally:
        frozen.close()
