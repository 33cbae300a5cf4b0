"""Every field that staff fill in says what to type."""

import pytest
from django import forms
from django.contrib import admin as django_admin
from django.urls import reverse

from compute.models import AddressPool
from tests.config.admin.pages import page_address
from tests.factories import UserFactory

SELF_EXPLANATORY = {
    "first_name", "last_name", "address_1", "address_2", "zip", "city", "state", "usable_password", "password1",
    "password2", "password",
}  # fmt: skip
"""Fields whose labels say all, and Django's own fields for passwords."""
REGISTERED = django_admin.site._registry


def silent(form: forms.Form) -> set[str]:
    """Return the names of the visible fields without a help text."""
    return {field.name for field in form.visible_fields() if not field.help_text} - SELF_EXPLANATORY


@pytest.mark.django_db
@pytest.mark.parametrize("model", REGISTERED, ids=lambda model: model._meta.label)
def test_of_new_objects(admin, model):
    response = admin.get(reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add"))
    if response.status_code == 403:  # nobody may add one
        return
    form = response.context["adminform"].form
    assert form.visible_fields()
    assert silent(form) == set()


@pytest.mark.django_db
def test_of_objects(admin, everything):
    """The pages of all models, with the newest object of each."""
    found = {}
    for model, page in REGISTERED.items():
        obj = model._default_manager.order_by("-pk").first()
        if obj is not None:
            form = admin.get(page_address(obj)).context["adminform"].form
            if missing := silent(form):
                found[page.opts.label] = missing
    assert found == {}


@pytest.mark.django_db
def test_of_verbs(admin, running):
    user = UserFactory(account=running.account, username="kari", restricted=True)
    asked = [
        (running.host, "drain"), (running, "migrate"), (running.account, "suspend"), (user, "log-out"),
        (user, "grants"), (user, "hand-over-token"), (user, "second-factor-off"), (user, "check-answer"),
        (running.jobs.get(), "give-up"),
    ]  # fmt: skip
    for obj, verb in asked:
        form = admin.post(page_address(obj).replace("/change/", f"/do/{verb}/")).context["form"]
        missing = silent(form)
        if verb == "grants":  # of grants, the label says all
            missing &= {"kind", "ids", "level"}
        assert missing == set(), verb


@pytest.mark.django_db
def test_a_read_only_field_has_no_help_for_input(admin, running):
    page = admin.get(page_address(running.host)).content.decode()
    assert "The region that the host belongs to." not in page
    assert "If ticked, new instances and instances that move can be placed here." in page
    pool = AddressPool.objects.filter(region=running.region).first()
    assert "198.51.100.0/24, or" not in admin.get(page_address(pool)).content.decode()


@pytest.mark.django_db
def test_a_new_host_has_only_fields_to_fill_in(admin):
    page = admin.get(reverse("admin:compute_host_add"))
    names = {field.name for field in page.context["adminform"].form.visible_fields()}
    fieldsets = page.context["adminform"].fieldsets
    shown = {name for _, options in fieldsets for line in options["fields"] for name in line}
    assert shown == names
