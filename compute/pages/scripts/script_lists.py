"""The lists of deployment scripts: the account's own, and the public ones."""

from typing import Any, ClassVar

from django.db.models import F, QuerySet
from django.db.models.functions import Lower
from django.urls import reverse

from accounts.pages.objects import ObjectListPage, Tab
from compute.filters.stackscripts import StackScriptListFilterSet
from compute.models import StackScript
from compute.pages.scripts.script import verbs_of
from config.pages.lists import Column, Row

TABS = (("scripts", "Your scripts"), ("scripts-public", "Public scripts"))


class ScriptListPage(ObjectListPage):
    template_name = "compute/scripts.html"
    model = StackScript
    noun = "scripts"
    new = "script-new"
    add = "add_stackscripts"
    filterset_class = StackScriptListFilterSet
    columns = (
        Column("Label", "label", Lower("label")),
        Column("Author", "author", F("username")),
        Column("Images"),
        Column("Deployments", "deployments", F("deployments_total")),
        Column("Changed", "updated"),
    )
    tab: ClassVar[str]

    def get_queryset(self) -> QuerySet[StackScript]:
        return super().get_queryset().defer("script", "user_defined_fields")

    def rows(self, shown: list[StackScript]) -> list[Row]:
        own = [script.pk for script in shown if script.account_id == self.actor.account_id]
        writable = StackScript.objects.writable_keys(self.actor, own)
        return [Row(each, verbs_of(self.actor, each, may_change=each.pk in writable)) for each in shown]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        tabs = [Tab(label, reverse(page), page == self.tab) for page, label in TABS]
        return {**super().get_context_data(**kwargs), "tabs": tabs, "is_own": self.tab == "scripts"}


class OwnScriptsView(ScriptListPage):
    """``/home/scripts``: the scripts of the account that the user may see."""

    tab = "scripts"

    def get_queryset(self) -> QuerySet[StackScript]:
        return super().get_queryset().filter(account_id=self.actor.account_id)


class PublicScriptsView(ScriptListPage):
    """``/home/scripts/public``: the public scripts of all accounts, and the platform's own."""

    tab = "scripts-public"

    def get_queryset(self) -> QuerySet[StackScript]:
        return super().get_queryset().filter(is_public=True)
