"""Modules and tasks that a worker loads when it starts."""

from django.conf import settings

from accounts.services import outbox, thumbnails
from accounts.tasks import draw_pictures, send_messages
from config.celery import app


def test_a_worker_knows_every_task_that_the_clock_asks_for():
    app.loader.import_default_modules()
    assert {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()} <= set(app.tasks)


def test_a_worker_knows_every_task_that_has_a_queue_of_its_own():
    app.loader.import_default_modules()
    assert set(settings.CELERY_TASK_ROUTES) <= set(app.tasks)


def test_a_worker_knows_the_names_that_processes_of_the_release_before_send():
    app.loader.import_default_modules()
    old = {
        name.replace("compute.worker.", "compute.jobs.") for name in app.tasks if name.startswith("compute.worker.")
    }
    assert "compute.jobs.advance" in old
    assert old <= set(app.tasks)


def test_a_run_that_sends_messages_ends_before_another_worker_may_take_one_of_them():
    assert outbox.RUN_FOR < send_messages.soft_time_limit < send_messages.time_limit < outbox.LEASE


def test_a_run_that_draws_pictures_ends_before_another_worker_may_take_one_of_them():
    longest = thumbnails.RUN_FOR + thumbnails.DRAWN_WITHIN
    assert longest < draw_pictures.soft_time_limit < draw_pictures.time_limit < thumbnails.LEASE


def test_no_task_of_the_clock_expires_because_the_clocks_of_two_hosts_differ():
    app.loader.import_default_modules()
    tasks = (app.tasks[entry["task"]] for entry in settings.CELERY_BEAT_SCHEDULE.values())
    assert {task.name: task.expires for task in tasks if not task.expires or task.expires < 60} == {}
