"""The Celery tasks of accounts."""

from celery import shared_task

from accounts.services import outbox


@shared_task(name=outbox.TASK, ignore_result=True, expires=60)
def send_messages() -> None:
    """Send the mails and short messages that are due."""
    outbox.send_due()
