"""Forms whose choices depend on each other: the profiles on the instance, and the price on the size."""

from typing import Any

from accounts.actors import Actor
from compute.models import Instance
from compute.pages.choices import offer_rows
from compute.pages.volumes.fields import price_of, profiles_of
from config.display.integers import is_id
from config.pages.forms import BodyForm
from config.pages.views import UpdatedFormPage

DEPENDENT = ("compute_id", "config_id", "persist_across_boots")
"""The fields that follow other choices, or lose their choice by them. They stand last."""


class ChoosingPage(UpdatedFormPage):
    """A page with such a form. ``compute/volume_form.html`` updates the price and the dependent fields."""

    template_name = "compute/volume_form.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        form = context["form"]
        names = [name for name in DEPENDENT if name in form.fields]
        size = str(form["size"].value()) if "size" in form.fields else ""
        return {
            **context,
            "first": [form[name] for name in form.fields if name not in names],
            "dependent": [form[name] for name in names],
            "size": size,
            "price": price_of(int(size)) if is_id(size) else "",
        }


def offer_instances(form: BodyForm, actor: Actor, region: str, none: str) -> list[Instance]:
    """Offer and return the instances of a region that the actor may change. Offer the profiles of the chosen one.

    `none` is the text of the empty choice. Two queries, and one without a region.
    """
    rows = Instance.objects.writable_by(actor).filter(region=region).exclude(status=Instance.Status.DELETING)
    shown = rows.only("label").order_by("label", "pk") if region else rows.none()
    instances = offer_rows(form, "compute_id", shown, lambda each: (each.pk, each.label), ("", none))
    wanted = str(form["compute_id"].value() or "")
    chosen = next((each for each in instances if str(each.pk) == wanted), None)
    if chosen is None:
        del form.fields["config_id"]
    else:
        form.offer("config_id", profiles_of(chosen))
    return instances
