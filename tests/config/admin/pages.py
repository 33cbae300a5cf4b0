"""Pages of the admin, and their buttons."""

from django.contrib.admin.utils import quote
from django.urls import reverse


def list_address(model) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def page_address(obj) -> str:
    return reverse(f"admin:{obj._meta.app_label}_{obj._meta.model_name}_change", args=[quote(obj.pk)])


def do(admin, obj, verb: str, **data):
    address = page_address(obj).replace("/change/", f"/do/{verb}/")
    return admin.post(address, {"confirmed": "yes", **data}, follow=True)


def messages_of(response) -> str:
    """Return the messages on the page that a redirect leads to."""
    return " | ".join(str(message) for message in response.context["messages"])
