"""``{% task_of opts as task %}``: the group of a model's page on the first page of the admin."""

from django import template
from django.contrib import admin
from django.db.models.options import Options

from config.admin.pages import Page
from config.admin.tasks import Task

register = template.Library()


@register.simple_tag
def task_of(opts: Options) -> Task | None:
    """Return the task of the page of the model with these options, or None if the model has no page."""
    page = admin.site._registry.get(opts.model)
    return page.task if isinstance(page, Page) else None
