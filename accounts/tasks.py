"""The Celery tasks of accounts."""

from celery import shared_task

from accounts.services import outbox, retention, thumbnails


@shared_task(
    name=outbox.TASK_NAME, ignore_result=True, expires=60,
    soft_time_limit=outbox.SOFT_LIMIT, time_limit=outbox.HARD_LIMIT,  # not those of jobs: the lease is another
)  # fmt: skip
def send_messages() -> None:
    """Send the mails and short messages that are due."""
    outbox.send_due()


@shared_task(
    name=thumbnails.TASK_NAME, ignore_result=True, expires=60,
    soft_time_limit=thumbnails.SOFT_LIMIT, time_limit=thumbnails.HARD_LIMIT,
)  # fmt: skip
def draw_pictures() -> None:
    """Draw the pictures that OAuth clients sent."""
    thumbnails.draw_due()


@shared_task(name="accounts.delete_old", ignore_result=True, expires=3600)
def delete_old() -> None:
    """Delete expired rows: old events and logins, tokens that ended."""
    retention.delete_old()
