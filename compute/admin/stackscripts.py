"""Deployment scripts. Authors write them. Staff choose public scripts to highlight, or make them private."""

from collections.abc import Mapping
from typing import ClassVar

from django.contrib import admin
from django.db import transaction
from django.forms import ModelForm
from django.http import HttpRequest

from accounts.actors import Actor
from accounts.admin.filters import AccountFilter
from accounts.services.events import record_event
from compute.models import StackScript
from compute.refs import script_ref
from config.admin.pages import Page
from config.admin.tasks import Task

CHANGED = {True: "The platform's staff made the script public.", False: "The platform's staff made it private."}
"""The message of the account's event, by whether the script is public now."""


@admin.register(StackScript)
class StackScriptPage(Page):
    """Owners make and delete scripts; staff may make a public one private."""

    task = Task.CATALOGUE
    labels: ClassVar[Mapping[str, str]] = {
        "is_public": "Public",
        "ordinal": "Recommended",
        "logo_url": "Address of the logo",
        "deployments_total": "Deployments",
        "user_defined_fields": "Questions",
        "rev_note": "Note on the revision",
    }
    help_texts: ClassVar[Mapping[str, str]] = {
        "is_public": "If ticked, all customers can use the script. Only staff can make a public script private.",
        "ordinal": "0: not recommended. Otherwise the place among the recommended scripts, such as 1.",
        "logo_url": "The address of a picture for the script, such as https://www.example.com/logo.svg. It may be"
        " empty.",
        "user_defined_fields": "The values that customers fill in when they deploy the script.",
    }
    list_display = (
        "id",
        "label",
        "account",
        "username",
        "is_public",
        "ordinal",
        "deployments_total",
        "updated",
        "age",
    )
    list_select_related = ("account",)
    list_filter = ("is_public", AccountFilter)
    search_fields = ("=id", "^label", "username")
    search_help_text = "A script's id, how its label begins, or its author."
    link_filters = ("account__id__exact",)
    fieldsets = (
        (None, {"fields": ("label", "account", "username", "description", ("is_public", "ordinal"), "logo_url")}),
        ("Script", {"fields": ("images", "rev_note", "script", "user_defined_fields")}),
        ("Use", {"fields": ("deployments_total", "created", "updated")}),
    )
    readonly_fields = (
        "label", "account", "username", "description", "images", "rev_note", "script", "user_defined_fields",
        "deployments_total", "created", "updated",
    )  # fmt: skip

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: StackScript | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: StackScript, form: ModelForm, change: bool) -> None:
        """Save the changed fields, and record an event for the account when the script turns public or private."""
        with transaction.atomic():
            obj.save(update_fields=[*form.changed_data, "updated"])
            # the platform's own scripts have no account that could be notified
            if "is_public" in form.changed_data and obj.account_id is not None:
                action = "stackscript_publicize" if obj.is_public else "stackscript_update"
                platform, message = Actor.platform(obj.account_id), CHANGED[obj.is_public]
                record_event(platform, action, script_ref(obj), message=message)
