"""Creating an instance: one page with all choices, and the parts of it that follow the choices."""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.generic.base import ContextMixin

from accounts.models import Account
from accounts.pages.base import AccountPage, signed_in
from accounts.pages.session_store import session_of
from compute.models import Backup, Image, Instance, StackScript
from compute.pages import script_fields
from compute.pages.choices import by_class, chosen_backup, chosen_script, scripts, users_with_keys
from compute.pages.instance_form import NO_IMAGE, NewInstanceForm, starting_values
from compute.pages.root_passwords import keep_to_show, page_after
from compute.serializers.disks import DeployRequest
from compute.serializers.instances import spec_of
from compute.services.common.password_strength import WEAK, is_strong, make_password, score
from compute.services.instances import instances
from compute.services.instances.deploy import DEFAULT_SWAP
from compute.services.instances.offers import Offer, Offers, Wanted, find_offers, version_of
from config import word
from config.display.integers import is_integer
from config.pages.curl import curl
from config.pages.reasons import reason_on_page
from config.pages.views import JobMessage, ServiceFormView
from regions.countries import country_name

CREATED = "created"
"""The session's key for the forms that made an instance: ``{form: instance}``, the last ones."""
REMEMBERED_FORMS = 10
ALREADY_SENT = "This instance is already being created. Open the list of instances to see it."
MAX_ONCE = 16
"""Characters of the random name of a form."""
MAX_DIGITS = 9
TYPE_AGAIN = "Type the password again. The page does not store it."
STRENGTHS = ("very weak", "weak", "fair", "good", "strong")
SHOWN_SCRIPT = "script_shown"
"""The name of the hidden input with the script whose fields the page shows."""
UPDATE = "update"
"""The name of the button that shows the page again with updated choices, for browsers without scripts."""


@dataclass(frozen=True, slots=True)
class Group:
    """Choices that are shown together; `open` if they are shown at first."""

    name: str
    offers: list[Offer[Any]]
    open: bool = True


class _ChoicesPage(ContextMixin, AccountPage):
    """Base of the page and its parts: the choices that a request names."""

    operations = frozenset({"compute_instances_create"})
    grant = "add_computes"

    @cached_property
    def given(self) -> QueryDict:
        return self.request.POST if self.request.method == "POST" else self.request.GET

    @cached_property
    def backup_id(self) -> str:
        """The id of the backup that the instance is made from, as the request names it; empty without a backup."""
        return self.given.get("backup_id" if self.request.method == "POST" else "backup", "")

    @cached_property
    def backup(self) -> Backup | None:
        """The backup, of those that are complete and that the user may see."""
        return chosen_backup(self.actor, self.backup_id)

    @cached_property
    def offers(self) -> Offers:
        suggest = self.request.method != "POST"
        wanted = {name: self.given.get(name) or None for name in ("region", "image", "type")}
        swap = self.given.get("swap_size", "").strip()
        size = int(swap) if is_integer(swap) and len(swap) <= MAX_DIGITS else DEFAULT_SWAP
        return find_offers(self.actor, Wanted(**wanted, swap_size=size, backup=self.backup), suggest=suggest)

    @cached_property
    def script(self) -> StackScript | None:
        return None if self.backup_id else chosen_script(self.actor, self.given.get("stackscript_id", ""))

    def make_form(self) -> NewInstanceForm:
        users = users_with_keys(self.actor)
        if self.request.method == "POST":
            data: Any = self.sent()
        else:
            data = starting_values(self.actor, self.offers, self.script, users, self.given)
            data["backup_id"] = self.backup_id
        return NewInstanceForm(
            self.actor, self.account, self.offers, self.script, users, data, from_backup=bool(self.backup_id)
        )

    def sent(self) -> QueryDict:
        """The values that the browser sent. Fields of a script that it has not shown yet have their defaults."""
        sent = self.given.copy()
        if self.script and sent.get(SHOWN_SCRIPT) != str(self.script.pk):
            for name, value in script_fields.starting_values(self.script).items():
                if name not in sent:
                    sent.setlist(name, value if isinstance(value, list) else [value])
        return sent

    @cached_property
    def account(self) -> Account:
        account = signed_in(self.request).account
        if account is None:  # AccountPage answers 404
            raise TypeError("the user is on no account")
        return account

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        form: NewInstanceForm = kwargs["form"]
        offered, more = ([], "") if self.backup_id else scripts(self.actor, self.offers.image, self.script)
        return super().get_context_data(
            offers=self.offers,
            countries=_countries(self.offers, available_first=self.backup is not None),
            images=_image_groups(self.offers),
            no_image=NO_IMAGE,
            image_choice=form.data.get("image", ""),
            types=_type_groups(self.offers),
            reason_of_all=_reason_of_all(self.offers.types),
            from_backup=bool(self.backup_id),
            backup=self.backup,
            scripts=offered,
            more_scripts=more,
            script=self.script,
            prices=form.prices(),
            curl=curl("POST", word.on_wire("/v4/compute/instances"), form.body.with_word(form.without_secrets())),
            **kwargs,
        )


class InstanceCreateView(_ChoicesPage, ServiceFormView):
    """``/home/instances/new``. ``?region=…&image=…&type=…&stackscript_id=…`` name choices to begin with.

    ``?backup=…`` names a backup that the instance is made from, of an instance that the user may change.
    """

    template_name = "compute/instance_create.html"

    def get_form(self, form_class: Any = None) -> NewInstanceForm:
        form = self.make_form()
        if self.request.method != "POST":
            form.full_clean()
            form.errors.clear()  # nobody has sent the values that the form begins with
        return form

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if self.backup_id:
            if self.backup is None:
                raise Http404
            if not Instance.objects.writable_by(self.actor).filter(pk=self.backup.instance_id).exists():
                raise PermissionDenied
        return super().get(request, *args, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        made = self.made_before()
        if made is not None:
            return redirect(page_after(request, made))
        if UPDATE not in request.POST:
            return super().post(request, *args, **kwargs)
        form = self.get_form()
        form.full_clean()
        form.errors.clear()
        return self.render_to_response(self.get_context_data(form=form))

    def form_invalid(self, form: NewInstanceForm) -> HttpResponse:
        """Ask again for a typed password, which the page does not repeat. Without it, one would be generated."""
        if "root_pass" in form.fields and form["root_pass"].data and not form.has_error("root_pass"):
            form.add_error("root_pass", TYPE_AGAIN)
        return super().form_invalid(form)

    throttle_scope = "instance_create"
    renamed = NewInstanceForm.renamed
    made: int | None = None
    """The instance that the form has made."""

    def perform(self, form: NewInstanceForm) -> str:
        body, sent = form.given, form.as_body()
        if form.cleaned_data.get("image") == "":
            body.problems.add("image", "image is required")
        password = make_password() if "image" in sent and "root_pass" not in sent else ""
        if password:
            body["root_pass"] = password
        with session_of(self.request).locked(ALREADY_SENT):
            self.made = self.made_before()
            if self.made is not None:
                return ""
            instance = instances.create(self.actor, spec_of(body), body.problems)
            self.made = instance.pk
            self.remember(instance)
            if password:
                keep_to_show(self.request, instance, password)
        return "" if password else JobMessage(f"{instance} is being created.")

    def get_success_url(self) -> str:
        if self.made is None:  # `perform` has set it
            raise TypeError("no instance was created")
        return page_after(self.request, self.made)

    def made_before(self) -> int | None:
        """Return the instance that this form has made already: a form that is sent again makes no second one.

        `perform` checks again while it holds the lock of the session. If a form is sent twice at the same moment,
        the second request waits for the first one and redirects to its instance. If the first one takes too long,
        the second request answers `ALREADY_SENT`. PostgreSQL alone decides this: a frozen Redis changes nothing.
        """
        return self.request.session.get(CREATED, {}).get(self.once)

    def remember(self, instance: Instance) -> None:
        made = {**self.request.session.get(CREATED, {}), self.once: instance.pk}
        self.request.session[CREATED] = dict(list(made.items())[-REMEMBERED_FORMS:])

    @cached_property
    def once(self) -> str:
        """The random name of this form, which the form sends."""
        return self.request.POST.get("once", "")[:MAX_ONCE] or secrets.token_hex(MAX_ONCE // 2)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(
            trail=[("Instances", reverse("instances"))],
            once=self.once,
            form=kwargs.pop("form", None) or self.get_form(),
            **kwargs,
        )


class InstanceChoiceView(_ChoicesPage):
    """``/home/instances/new/choice``: the parts of the page that follow a choice, for htmx.

    The part that the choice was made in decides which parts are sent. The summary always is.
    """

    http_method_names = ("post",)

    def post(self, request: HttpRequest) -> HttpResponse:
        form = self.make_form()
        form.full_clean()
        form.errors.clear()
        part = request.headers.get("HX-Trigger", "")
        return render(request, "compute/instance_create_parts.html", self.get_context_data(form=form, part=part))


class PasswordStrengthView(AccountPage):
    """``/home/instances/new/strength``: how strong the typed root password is, for htmx. Nothing is kept."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest) -> HttpResponse:
        password = request.POST.get("root_pass", "")
        problems = list(map(reason_on_page, DeployRequest.read_body({"root_pass": password}).problems))
        if not problems and not is_strong(password):
            problems.append(WEAK)
        found = score(password)
        context = {
            "empty": not password, "reason": " ".join(problems), "score": found, "strength": STRENGTHS[found],
        }  # fmt: skip
        return render(request, "compute/password_strength.html", context)


def _countries(offers: Offers, *, available_first: bool) -> list[Group]:
    """The regions by country, the countries by name. A backup leaves one region, which comes first."""
    named = sorted(offers.regions, key=lambda offer: country_name(offer.item.country))
    if available_first:
        named.sort(key=lambda offer: bool(offer.reason))
    return [
        Group(country, list(regions))
        for country, regions in groupby(named, key=lambda offer: country_name(offer.item.country))
    ]


def _image_groups(offers: Offers) -> list[Group]:
    """The account's own images, the newest official release of each vendor, and all others, older ones last."""
    own = [offer for offer in offers.images if not offer.item.is_public]
    public = [offer for offer in offers.images if offer.item.is_public]
    newest = _newest_of_vendors(public)
    others = sorted((offer for offer in public if offer not in newest), key=lambda offer: offer.item.deprecated)
    shown = any(offer.item == offers.image for offer in others)
    groups = (Group("Your images", own), Group("", newest), Group("Other versions", others, open=shown))
    return [group for group in groups if group.offers]


def _newest_of_vendors(public: Iterable[Offer[Image]]) -> list[Offer[Image]]:
    current = [offer for offer in public if not offer.item.deprecated and _is_plain(offer.item)]
    vendors = sorted(current, key=lambda offer: (offer.item.vendor or "").lower())
    return [
        max(group, key=lambda offer: version_of(offer.item))
        for _, group in groupby(vendors, key=lambda offer: offer.item.vendor)
    ]


def _is_plain(image: Image) -> bool:
    """Whether an image is a release of its vendor, not something built on one."""
    return image.label.startswith(image.vendor or "")


def _type_groups(offers: Offers) -> list[Group]:
    """The types by class. The group of the chosen type is open, or the first one."""
    groups = [
        Group(name, found, open=any(offer.item == offers.type for offer in found))
        for name, found in by_class(offers.types, lambda offer: offer.item)
    ]
    if groups and not any(group.open for group in groups):
        groups[0] = Group(groups[0].name, groups[0].offers)
    return groups


def _reason_of_all(offers: Sequence[Offer[Any]]) -> str:
    """The reason if all offers have the same one, which the page then shows once; else empty."""
    reasons = {offer.reason for offer in offers}
    return reasons.pop() if len(reasons) == 1 else ""
