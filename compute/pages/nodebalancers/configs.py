"""The configs of a load balancer: creating, changing and deleting one."""

from typing import Any

from django import forms
from django.http import HttpResponse

from accounts.pages.objects import ObjectConfirmationPage, ObjectFormPage
from compute.models import NodeBalancerConfig
from compute.pages.nodebalancers.base import HOME, BalancerPage, ConfigPage
from compute.pages.nodebalancers.config_form import EditConfigForm, NewConfigForm, ask_for_key_again, values_of
from compute.serializers.nodebalancers.configs import wish_of
from compute.services.nodebalancers import configs


class ConfigFormPage(BalancerPage, ObjectFormPage):
    """A page with the form of a config."""

    template_name = "compute/nodebalancers/config_form.html"
    tab = HOME

    def form_invalid(self, form: Any) -> HttpResponse:
        ask_for_key_again(form)
        return super().form_invalid(form)


class NewConfigView(ConfigFormPage):
    """``/home/load-balancers/<id>/configs/new``."""

    form_class = NewConfigForm
    operations = frozenset({"nodebalancers_configs_create"})
    heading = "Add a config to {page.balancer}"
    introduction = "A config is a port of the load balancer. Its nodes get the traffic: add them afterwards."
    verb = "Add config"

    def get_initial(self) -> dict[str, Any]:
        return values_of(NodeBalancerConfig())

    def perform(self, form: NewConfigForm) -> str:
        made = configs.create(self.actor, self.balancer, wish_of(form.given), form.given.problems)
        return f"{self.balancer} listens on {made}. Add a node to it."


class EditConfigView(ConfigPage, ConfigFormPage):
    """``/home/load-balancers/<id>/configs/<id>/edit``."""

    form_class = EditConfigForm
    operations = frozenset({"nodebalancers_configs_update"})
    heading = "Edit {page.config}"
    verb = "Save"

    def get_initial(self) -> dict[str, Any]:
        return values_of(self.config)

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "config": self.config}

    def perform(self, form: EditConfigForm) -> str:
        changed = configs.update(self.actor, self.config, wish_of(form.given), form.given.problems)
        return f"The config {changed} was saved."


class DeleteConfigView(ConfigPage, ObjectConfirmationPage):
    """``/home/load-balancers/<id>/configs/<id>/delete``."""

    operations = frozenset({"nodebalancers_configs_destroy"})
    heading = "Delete {page.config}"
    introduction = "The load balancer closes the port and deletes the nodes of the config. This cannot be undone."
    verb = "Delete config"

    def perform(self, form: forms.Form) -> str:
        configs.delete(self.actor, self.config)
        return f"The config {self.config} was deleted."
