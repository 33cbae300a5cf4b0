"""Base classes of the pages about one object of the account: its visibility, permission to change it, and forms."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest
from django.shortcuts import redirect
from django.urls import reverse
from django.views.generic.base import ContextMixin
from django_htmx.http import HttpResponseClientRedirect

from accounts.actors import Actor
from accounts.pages.base import AccountPage
from config.pages.forms import BodyForm
from config.pages.lists import ListView, Row, Verb
from config.pages.navigation import NOUNS
from config.pages.views import FormPage, ServiceFormView, is_htmx

GONE = "{} does not exist any more. Somebody may have deleted it meanwhile."


@dataclass(frozen=True, slots=True)
class Tab:
    label: str
    address: str
    current: bool


class ObjectPage(ContextMixin, AccountPage):
    """A page of one object that the user may see; others are answered 404.

    A page with `operations` changes the object. It answers 403 to users who may only read the object. The manager
    of `model` has `visible_to` and `writable_by`, or the page overrides `get_queryset` and `may_change`.
    """

    model: ClassVar[type[Model]]
    noun: ClassVar[str]
    """The slug of the object's entry in the navigation."""
    home: ClassVar[str] = ""
    """The name of the URL of the object's first page. Without one, pages redirect to the list."""
    tab_pages: ClassVar[tuple[tuple[str, str], ...]] = ()
    """The pages of the object: the name of the URL, and the label of the tab."""
    tabs_of_changes: ClassVar[Collection[str]] = frozenset()
    """The tabs that consist of forms. Users who may only read the object do not have them."""
    tab: ClassVar[str] = ""
    """The name of the URL of the tab that the page belongs to."""
    changes: ClassVar[bool] = True
    """Whether the page's operations change this object. Others, such as a clone, need only a `grant`."""
    part_noun: ClassVar[str] = ""
    """The part of the object that the page is about, such as ``record``. Empty for pages about the object."""
    part_needs_grant: ClassVar[bool] = False
    """Whether restricted users need a grant of its own to see the part. They never learn whether a part that they
    do not see exists: the answer is 404."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Answer the request. If the object or part of a sent form was deleted, redirect to the page above.

        Restricted users who may not see what still exists are answered 404, as everywhere.
        """
        if request.user.is_authenticated and self.operations and self.changes and not self.may_change:
            raise PermissionDenied
        try:
            return super().dispatch(request, *args, **kwargs)
        except Http404:
            is_form = request.method == "POST" or (self.part_noun and is_htmx(request))
            if not is_form or "object" not in self.__dict__:
                raise
            exists = self.get_queryset().filter(pk=self.object.pk).exists()
            if (exists and not self.part_noun) or self._may_be_hidden(exists):
                raise
            messages.error(request, GONE.format(f"The {self.part_noun}" if exists else self.object))
            address = self.back_address() if exists else NOUNS[self.noun].address
            return HttpResponseClientRedirect(address) if is_htmx(request) else redirect(address)

    def _may_be_hidden(self, exists: bool) -> bool:
        """Tell whether the user may have no grant on what the request did not find. `exists` is whether the user
        still sees the object: else its grant may have been removed, and not its row.
        """
        if not self.actor.restricted:
            return False
        if exists:
            return self.part_needs_grant
        return self.get_queryset().model._base_manager.filter(pk=self.object.pk).exists()

    def get_queryset(self) -> QuerySet[Any]:
        return self.model._default_manager.visible_to(self.actor)  # type: ignore[attr-defined]

    @cached_property
    def object(self) -> Any:
        found = self.get_queryset().filter(pk=self.kwargs["pk"]).first()
        if found is None:
            raise Http404
        return found

    @cached_property
    def may_change(self) -> bool:
        """Whether the user may change the object, and not only read it. One query if the user is restricted."""
        if not self.actor.restricted:
            return self.object is not None
        writable = self.model._default_manager.writable_by(self.actor)  # type: ignore[attr-defined]
        return writable.filter(pk=self.object.pk).exists()

    def address(self, page: str) -> str:
        """The address of another page of this object."""
        return reverse(page, args=[self.object.pk])

    def get_success_url(self) -> str:
        return self.back_address()

    def back_address(self) -> str:
        """The address of the page above this one: the tab, the object's first page, or the list."""
        page = self.tab or self.home
        return self.address(page) if page else NOUNS[self.noun].address

    def tabs(self) -> Iterator[Tab]:
        for page, label in self.tab_pages:
            if page in self.tabs_of_changes and not self.may_change:
                continue
            yield Tab(label, self.address(page), page == self.tab)

    def trail(self) -> list[tuple[str, str]]:
        """The pages above this one, as pairs of label and address."""
        noun = NOUNS[self.noun]
        return [(noun.label, noun.address), *self._own_pages()]

    def _own_pages(self) -> Iterator[tuple[str, str]]:
        is_form, here = isinstance(self, FormPage), self.request.resolver_match
        if self.home and (is_form or (here is not None and here.url_name != self.home)):
            yield str(self.object), self.address(self.home)
        if is_form and self.tab and self.tab != self.home:
            yield dict(self.tab_pages)[self.tab], self.address(self.tab)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(
            object=self.object, may_change=self.may_change, tabs=self.tabs(), trail=self.trail(), **kwargs
        )


def without_tags(form: forms.Form, actor: Actor) -> None:
    """Remove the tags from a form of a restricted user, who may not change them: they belong to the account."""
    if actor.restricted:
        form.fields.pop("tags", None)


class NewObjectForm(BodyForm):
    """A form for a new object. Subclasses fill its choices when they are made. Restricted users have no tags."""

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.actor = actor
        without_tags(self, actor)


class ObjectForm(NewObjectForm):
    """A form about an object that exists."""

    def __init__(self, *args: Any, about: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.object = about


class ObjectFormView(ObjectPage, ServiceFormView):
    """A form about an object on one of its tabs. The template shows the form."""

    def get_form_kwargs(self) -> dict[str, Any]:
        about = {"about": self.object, "actor": self.actor}
        return super().get_form_kwargs() | (about if issubclass(self.get_form_class(), ObjectForm) else {})


class ObjectFormPage(ObjectFormView, FormPage):
    """A page with one form about an object. It redirects to its tab, or to the object's first page."""


class ObjectConfirmationPage(ObjectFormPage):
    """A page that asks before it does something that cannot be undone, or that costs something."""

    form_class = forms.Form
    dangerous = True


class NewObjectPage(AccountPage, FormPage):
    """A page with a form for a new object of the account. By default it redirects to the list."""

    noun: ClassVar[str]

    def get_form_kwargs(self) -> dict[str, Any]:
        actor = {"actor": self.actor} if issubclass(self.get_form_class(), NewObjectForm) else {}
        return super().get_form_kwargs() | actor

    def get_success_url(self) -> str:
        return NOUNS[self.noun].address

    def back_address(self) -> str:
        return NOUNS[self.noun].address

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        noun = NOUNS[self.noun]
        return super().get_context_data(trail=[(noun.label, noun.address)], **kwargs)


class ObjectListPage(AccountPage, ListView):
    """The list of a noun. `rows` of the context are the objects of the page with their verbs.

    `new` names the URL of the page for a new object. Users without the grant `add` have no button for it.
    """

    model: ClassVar[type[Model]]
    noun: ClassVar[str]
    new: ClassVar[str] = ""
    add: ClassVar[str] = ""

    def get_queryset(self) -> QuerySet[Any]:
        return self.model._default_manager.visible_to(self.actor)  # type: ignore[attr-defined]

    def verbs_of(self, found: Any) -> tuple[Verb, ...]:
        """Return the verbs for an object that the user may change."""
        raise NotImplementedError

    def writable(self, shown: list[Any]) -> Collection[int]:
        """Return the keys of the shown objects that the user may change. One query if the user is restricted."""
        manager: Any = self.model._default_manager
        return manager.writable_keys(self.actor, [row.pk for row in shown])

    def rows(self, shown: list[Any]) -> list[Row]:
        """Return the shown objects as rows."""
        writable = self.writable(shown)
        return [Row(row, self.verbs_of(row) if row.pk in writable else ()) for row in shown]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        label = NOUNS[self.noun].label
        return {
            **context,
            "heading": label,
            "no_match": f"No {label if label[1].isupper() else label[0].lower() + label[1:]} match",
            "rows": self.rows(list(context["page_obj"])),
            "may_create": bool(self.new) and (not self.add or self.actor.may(self.add)),
            "new": reverse(self.new) if self.new else "",
        }
