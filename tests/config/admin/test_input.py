"""Bad input in any address or form of the admin is refused with a message, never with a 500."""

import pytest
from django.contrib import admin as django_admin
from django.contrib.admin.models import LogEntry
from django.db import transaction
from django.test import Client
from django.urls import reverse

from accounts.models import User
from compute.models import IPv6Range
from compute.services.networking import ranges
from config.errors import Invalid
from tests.config.admin.pages import list_address, page_address

JUNK = ["a\0b", "abc", "-1", "9" * 30, "9" * 5000, "2020-13-45"]
IDS = ["%00", "a%00b", "abc", "-1", "9" * 30, "9" * 5000, "_00", "a/b"]
PARTS = 6
"""Tests that call many addresses are split into so many parts, which processes share."""

parts = pytest.mark.parametrize("part", range(PARTS))
pytestmark = [pytest.mark.django_db, pytest.mark.generated]


@pytest.fixture
def browser(everything, staff, monkeypatch) -> Client:
    """A browser of the staff user. Errors get their real answers, and pages omit the sidebar with all pages."""
    monkeypatch.setattr(django_admin.site, "get_app_list", lambda request, app_label=None: [])
    client = Client(raise_request_exception=False)
    client.force_login(staff)
    return client


def models():
    return django_admin.site._registry.items()


def address_of(model, name: str, *args) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{name}", args=args)


@pytest.fixture
def check(browser, django_capture_on_commit_callbacks):
    """Make calls that must not fail, and return the answers.

    Each call is rolled back, also if the database refused its transaction. Of failures with the same address,
    fields and error, one is reported.
    """

    def check(calls) -> list:
        found, answers = {}, []
        for call in calls:
            with transaction.atomic():
                with django_capture_on_commit_callbacks(execute=True):
                    answer = getattr(browser, call[0])(*call[1:])
                transaction.set_rollback(True)
            if answer.status_code >= 500:
                names = sorted(call[2]) if len(call) > 2 else []
                found[(*call[:2], *names, answer.exc_info[0])] = f"{call} {answer.exc_info[1]!r}"
            answers.append(answer)
        assert not found, "\n".join(found.values())
        return answers

    return check


class Sampled:
    """A sampler: the first thing of each kind gets all values, each other thing one value in turn.

    The code that checks a value depends on the kind, so other things of the kind behave alike.
    """

    def __init__(self):
        self.known, self.turn = set(), 0

    def of(self, kind, values: list) -> list:
        if kind not in self.known:
            self.known.add(kind)
            return values
        self.turn += 1
        return [values[self.turn % len(values)]]


def column(field) -> tuple:
    """Return a column's kind: its class, and the class of the column that it refers to. The kind decides the
    checks."""
    return type(field), type(getattr(field, "target_field", field))


def kinds_of_filter(model, each):
    """Return the parameter of a list's filter, and its kind."""
    name, kind = each if isinstance(each, tuple) else (getattr(each, "parameter_name", each), each)
    field = next((field for field in model._meta.concrete_fields if field.name == name), None)
    return str(name), (kind if isinstance(kind, type) else None, field and column(field))


@parts
def test_lists_refuse_values_that_are_none(part, check):
    calls, sampled = [], Sampled()
    for model, page in models():
        address, key = list_address(model), model._meta.pk
        kinds = {"q": ("q", model)}
        kinds |= {name: name for name in ("p", "o", "e", "all", "_to_field", "_popup", "nonsense", "tags")}
        kinds |= {name: (name, column(key)) for name in ("pk", "pk__in", "id__gt")}
        kinds |= {f"{field.name}__exact": column(field) for field in model._meta.concrete_fields}
        kinds |= {name: (model if kind == (None, None) else kind) for name, kind in (
            kinds_of_filter(model, each) for each in page.list_filter
        )}  # fmt: skip
        kinds |= {name: ("link", model, name) for name in getattr(page, "link_filters", ())}
        calls += [("get", address, {name: junk}) for name, kind in kinds.items() for junk in sampled.of(kind, JUNK)]
        calls.append(("get", address, {"e": "1", **dict.fromkeys(kinds, "\0")}))
    check(calls[part::PARTS])


@parts
def test_pages_of_ids_that_are_none_are_not_there(part, check):
    calls, sampled = [], Sampled()
    for model, page in models():
        start, key = list_address(model), column(model._meta.pk)
        for name in ("change", "history", "delete"):
            calls += [("get", f"{start}{junk}/{name}/") for junk in sampled.of((name, key), IDS)]
        for verb in getattr(page, "verbs", ()):
            calls += [("post", f"{start}{junk}/do/{verb.name}/") for junk in sampled.of(("do", key), IDS)]
    check(calls[part::PARTS])


@parts
def test_menus_of_lists_refuse_ids_that_are_none(part, check):
    calls, sampled = [], Sampled()
    for model, page in models():
        for verb in getattr(page, "verbs", ()):
            for junk in sampled.of(column(model._meta.pk), JUNK):
                data = {"action": verb.name, "_selected_action": [junk], "confirmed": "yes"}
                calls += [("post", list_address(model), data), ("post", f"{list_address(model)}?e=1", data)]
    check(calls[part::PARTS])


def forms(browser: Client) -> list[tuple[str, bool]]:
    """Return the addresses of all forms, and for each whether it changes an existing object."""
    request, found = request_of(browser), []
    for model, page in models():
        if page.has_add_permission(request):
            found.append((address_of(model, "add"), False))
        obj = model._default_manager.first()
        if page.has_change_permission(request, obj):
            found.append((page_address(obj), True))
    return found


@parts
def test_forms_refuse_values_that_are_none(part, browser, check):
    """Send all fields at once: each field checks its value whatever the others contain.

    Then send fields one by one. If the form was refused, send only those that make it complete.
    """
    assert forms(browser)
    for address, change in forms(browser)[part::PARTS]:
        [blank] = check([("post", address, {})])
        names, missing = list(blank.context["adminform"].form.fields), set(blank.context["adminform"].form.errors)
        for junk in JUNK:
            values = dict.fromkeys(names, junk)
            if not change:
                check([("get", address, values)])  # the form is prefilled
            [answer] = check([("post", address, values)])
            refused = answer.status_code == 200
            check(("post", address, {name: junk}) for name in names if not refused or missing <= {name})


def request_of(browser: Client):
    return browser.get(reverse("admin:index")).wsgi_request


@parts
def test_verbs_refuse_values_that_their_forms_refuse(part, check, everything):
    calls = []
    for model, page in models():
        obj = model._default_manager.first()
        for verb in getattr(page, "verbs", ()):
            if verb.form is not None:
                address = address_of(model, "do", obj.pk, verb.name)
                fields = verb.form(obj, None).fields
                for junk in JUNK:
                    calls += [("post", address, {name: junk, "confirmed": "yes"}) for name in fields]
    assert calls
    check(calls[part::PARTS])


def test_the_search_in_fields_refuses_them_too(check):
    wanted = {"app_label": "accounts", "model_name": "user", "field_name": "account"}
    calls = [("get", reverse("admin:autocomplete"), {**wanted, "term": junk}) for junk in JUNK]
    for key in wanted:
        calls += [("get", reverse("admin:autocomplete"), {**wanted, key: junk}) for junk in JUNK]
    check(calls)


def test_an_invalid_reference_is_refused_at_its_field(browser):
    for junk in ("abc", "9" * 30, "77777"):
        answer = browser.post(reverse("admin:accounts_user_add"), {"username": "new-one", "account": junk})
        assert answer.context["adminform"].form.errors["account"]
    answer = browser.post(reverse("admin:compute_host_add"), {"label": "new-one", "region": "a\0b"})
    assert answer.context["adminform"].form.errors["region"]
    assert not User.objects.filter(username="new-one").exists()


def test_a_late_refusal_of_the_service_is_shown_in_the_form(browser, world, monkeypatch):
    def taken(*args) -> None:
        raise Invalid("Somebody took the last one.", "region")

    monkeypatch.setattr(ranges, "prepare_pool", lambda pool: None)
    monkeypatch.setattr(ranges, "give_pool", taken)
    answer = browser.post(
        reverse("admin:compute_ipv6range_add"),
        {"account": world.account.pk, "region": "us-test", "instance": "", "route_target": ""},
    )
    assert answer.status_code == 200
    assert answer.context["adminform"].form.errors["region"] == ["Somebody took the last one."]
    assert not IPv6Range.objects.filter(kind="pool").exists()
    assert not LogEntry.objects.filter(object_repr__contains="/116").exists()
