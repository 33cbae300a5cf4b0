"""What is sent, in whatever way the database looks for it."""

import pytest
from django.core import mail
from django.db import connection, transaction

from accounts.models import Message
from accounts.services import outbox

pytestmark = pytest.mark.django_db

WAYS = ["", "hashjoin, mergejoin, hashagg", "hashjoin, mergejoin, hashagg, material, indexscan, bitmapscan, sort"]
"""Of a planner. By the last one an inner query is asked once for each row of the outer one."""


@pytest.mark.parametrize("avoided", WAYS)
def test_each_message_that_is_claimed_is_sent_however_it_was_found(owner, avoided):
    with transaction.atomic():
        for number in range(3):
            outbox.mail(owner, "external_tied", {"provider": f"Provider {number}", "label": "kari"})
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE accounts_message")
        for way in filter(None, avoided.split(", ")):
            cursor.execute(f"SET LOCAL enable_{way} = off")
    assert outbox.send_due() == 3
    assert [f"Provider {number}" in letter.body for number, letter in enumerate(mail.outbox)] == [True] * 3
    assert not Message.objects.exists()
