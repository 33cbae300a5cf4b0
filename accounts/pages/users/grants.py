"""The grants of a restricted user: those on the account, and those on the objects of each kind.

A page shows and saves the grants on one page of objects, because an account can have thousands.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from django import forms
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.urls import reverse

from accounts.actors import Actor
from accounts.entities import EntityKind, grantable
from accounts.models import GlobalGrants, Level, User
from accounts.pages.users.base import GRANTS, OVERVIEW, UserFormPage
from accounts.serializers.profile import GlobalGrantsResource, GrantsResource
from accounts.services.grants import entities_with_levels, granted_numbers, set_grants
from config.display.integers import is_id
from config.errors import DomainError
from config.pages.filtered import FilteredPage
from config.pages.forms import BodyForm, ChoiceField, FlagField, TextField
from config.pages.navigation import NOUNS

LEVELS = [("", "no access"), (Level.READ_ONLY, "read only"), (Level.READ_WRITE, "read and write")]
NO_GRANT = "none"
OBJECTS_ON_A_PAGE = 50
MAX_OBJECTS = 500
"""The maximum number of objects that one form saves."""


class LevelField(ChoiceField):
    """The level of a grant. "No access" is null in the body, which deletes the grant."""

    def __init__(self, **kwargs: Any):
        super().__init__(choices=LEVELS, **kwargs)

    def to_python(self, value: Any) -> Any:
        return super().to_python(value) or None


@dataclass(frozen=True, slots=True)
class Section:
    """An entry of the menu on the page: the account, or a kind of object with the number of grants on it."""

    label: str
    address: str
    current: bool
    number: int


class GrantsPage(UserFormPage):
    """A page with some of the user's grants. An unrestricted user has none, so that the page does not exist."""

    operations = frozenset({"account_users_grants_update"})
    lanes: ClassVar[Mapping[str, str]] = {"get": "slow", "post": "slow"}
    tab = GRANTS
    heading = "Grants of {page.object}"
    verb = "Save"

    @property
    def section(self) -> str:
        """The noun whose objects the page shows. Empty for the account."""
        return ""

    def get_queryset(self) -> QuerySet[User]:
        return super().get_queryset().filter(restricted=True)

    def sections(self) -> Iterator[Section]:
        """Yield the entries of the menu. One query."""
        numbers = granted_numbers(self.object)
        yield Section("Account", self.address(GRANTS), not self.section, 0)
        for kind in grantable():
            noun = NOUNS[kind.noun]
            address = reverse("user-grants-on", args=[self.object.pk, noun.slug])
            yield Section(noun.label, address, noun.slug == self.section, numbers.get(kind.name, 0))

    def trail(self) -> list[tuple[str, str]]:
        noun = NOUNS[self.noun]
        above = [(noun.label, noun.address), (str(self.object), self.address(OVERVIEW))]
        return [*above, ("Grants", self.address(GRANTS))] if self.section else above

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        here = NOUNS[self.section].label if self.section else "Grants"
        return super().get_context_data(sections=self.sections(), here=here, **kwargs)


class AccountGrantsForm(BodyForm):
    """The grants on the account. Those for parts that the platform does not have are left as they are."""

    body = GlobalGrantsResource
    partial = True
    account_access = LevelField(
        label="Access to the account",
        help_text="Contact data, settings, usage, quotas, OAuth apps and tickets. Only unrestricted users see "
        "other users.",
    )
    add_computes = FlagField(label="Create instances")
    add_volumes = FlagField(label="Create volumes")
    add_images = FlagField(label="Create images")
    add_stackscripts = FlagField(label="Create deployment scripts")
    add_domains = FlagField(label="Create domains")
    add_nodebalancers = FlagField(label="Create load balancers")
    add_firewalls = FlagField(label="Create firewalls")
    cancel_account = FlagField(
        label="Close the account",
        help_text="On the page Account. Nobody can sign in to a closed account. Only support can open it again.",
    )

    def is_sent(self, name: str, value: Any) -> bool:
        """Send all fields, because a browser omits unticked boxes. A request without the select is no such form."""
        return "account_access" in self.data


class AccountGrantsView(GrantsPage):
    """``/home/users/<id>/grants``: the grants on the account."""

    template_name = "accounts/user_grants_account.html"
    form_class = AccountGrantsForm

    def get_initial(self) -> dict[str, Any]:
        found = GlobalGrants.objects.filter(user=self.object).first() or GlobalGrants(user=self.object)
        return {name: getattr(found, name) for name in AccountGrantsForm.base_fields}

    def perform(self, form: AccountGrantsForm) -> str:
        set_grants(self.actor, self.object, form.given, {}, form.given.problems)
        return "The grants on the account are saved."

    def get_success_url(self) -> str:
        return self.address(GRANTS)


@dataclass(frozen=True, slots=True)
class Granted:
    """An object with the user's level on it; None without a grant. `field` is the form field of the level."""

    key: int
    label: str
    level: str | None

    @property
    def field(self) -> str:
        return f"level-{self.key}"

    @property
    def shown(self) -> str:
        """The name of the hidden input with the level that the page shows."""
        return f"shown-{self.key}"


class SearchForm(forms.Form):
    """The search for objects of one kind."""

    label = TextField(label="Label", widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}))
    level = ChoiceField(
        label="Level",
        choices=[("", "any"), (NO_GRANT, "no access"), *LEVELS[1:]],
    )

    def matching(self, rows: QuerySet) -> QuerySet:
        """Return the rows that match. A NUL, which no label has, and an unknown level match nothing."""
        label, level = self.cleaned_data["label"].strip(), self.cleaned_data["level"]
        if "\0" in label or level not in ("", NO_GRANT, *Level):
            return rows.none()
        if label:
            rows = rows.filter(label__icontains=label)
        if level:
            rows = rows.filter(level__isnull=True) if level == NO_GRANT else rows.filter(level=level)
        return rows


class ObjectGrantsForm(BodyForm):
    """A level for each of some objects of one kind.

    Only levels that differ from the shown ones are sent: meanwhile, somebody else may have changed the others.
    """

    body = GrantsResource
    partial = True

    def __init__(self, *args: Any, kind: EntityKind, objects: list[Granted], actor: Actor, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.kind, self.objects = kind, objects
        self.changed: list[Granted] = []
        for each in objects:
            field = LevelField(label=f"Level on {each.label}", initial=each.level)
            field.widget.attrs["aria-label"] = field.label
            self.fields[each.field] = field

    def as_body(self) -> dict[str, Any]:
        self.changed = [each for each in self.objects if self.data[each.field] != self.shown(each)]
        entries = [{"id": each.key, "permissions": self.cleaned_data[each.field]} for each in self.changed]
        return {self.kind.name: entries}

    def shown(self, granted: Granted) -> str | None:
        """Return the level that the page showed, as the form has it. None if the form does not say so."""
        found: str | None = self.data.get(granted.shown) if self.is_bound else granted.level or ""
        return found

    def rows(self) -> Iterator[tuple[Granted, forms.BoundField, str | None]]:
        return ((each, self[each.field], self.shown(each)) for each in self.objects)


class ObjectGrantsView(FilteredPage, GrantsPage):
    """``/home/users/<id>/grants/<noun>``: the grants on one page of the objects of a kind.

    The form has the objects that the page shows. Grants on other objects are kept.
    """

    template_name = "accounts/user_grants_objects.html"
    form_class = ObjectGrantsForm

    @cached_property
    def kind(self) -> EntityKind:
        for kind in grantable():
            if kind.noun == self.section:
                return kind
        raise Http404

    @property
    def section(self) -> str:
        return str(self.kwargs["nouns"])

    @cached_property
    def search(self) -> SearchForm:
        form = SearchForm(self.request.GET)
        form.full_clean()
        return form

    @cached_property
    def page(self) -> Page:
        """The page of objects in the address, by label. Two queries."""
        rows = entities_with_levels(self.object, self.kind)
        if self.refusal:
            self.search.add_error(None, self.refusal)
            rows = rows.none()
        rows = self.search.matching(rows).order_by("label", self.kind.key)
        return Paginator(rows, OBJECTS_ON_A_PAGE).get_page(self.request.GET.get("page"))

    def objects(self) -> list[Granted]:
        """Return the objects of the form. A sent form has the objects that were shown, as far as they exist."""
        if self.request.method != "POST":
            return [Granted(key, label, level) for _, key, label, level in self.page]
        sent = (name.removeprefix("level-") for name in self.request.POST if name.startswith("level-"))
        keys = [int(key) for key in sent if is_id(key)][:MAX_OBJECTS]
        rows = entities_with_levels(self.object, self.kind).filter(**{f"{self.kind.key}__in": keys})
        return [Granted(key, label, level) for _, key, label, level in rows.order_by("label", self.kind.key)]

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "kind": self.kind, "objects": self.objects(), "actor": self.actor}

    def perform(self, form: ObjectGrantsForm) -> str:
        given = form.given
        set_grants(self.actor, self.object, {}, given, given.problems)
        return "The grants were saved."

    def form_invalid(self, form: forms.Form) -> HttpResponse:
        """Show the page again, whose search is a filter."""
        return self.within_limits(lambda: super(ObjectGrantsView, self).form_invalid(form))

    def refused(self, form: forms.Form, error: DomainError) -> Any:
        """Show the reasons at the objects. Lists in the body have positions, and fields have keys."""
        objects: list[Granted] = form.changed  # type: ignore[attr-defined] # an ObjectGrantsForm
        self.renamed: Mapping[str, str] = {  # type: ignore[misc] # for this form
            f"{self.kind.name}[{position}].{name}": each.field
            for position, each in enumerate(objects)
            for name in ("id", "permissions")
        }
        return super().refused(form, error)

    def get_success_url(self) -> str:
        return self.request.get_full_path()

    def back_address(self) -> str:
        return self.address(GRANTS)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(
            search=self.search,
            filtered=any(self.search.cleaned_data.values()),
            page_obj=self.page,
            **kwargs,
        )
