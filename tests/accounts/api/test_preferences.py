"""Preferences: one object for each user and OAuth client."""

import json

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.exceptions import ParseError

from accounts.actors import Actor
from accounts.models import Preferences
from accounts.services import preferences
from config.api import parsers
from config.errors import Missing
from tests.accounts.apps import call
from tests.client import APIClient, File, errors
from tests.factories import token_of

PATH = "/v4/profile/preferences"
SAMPLE = '{"k":[-1.5e+3,0,"a\\"\\u0041",null,{"":true}],"z":12}'


def _containers(values):
    return st.lists(values) | st.dictionaries(st.text(), values)


def test_preferences_keep_the_order_of_their_keys(api):
    assert api.get(PATH).json() == {}
    wanted = {"z": {"b": 1, "a": [None, 1.5, True]}, "a": "ø 💥", "10": {}, "9": ""}
    stored = api.put(PATH, wanted)
    assert json.dumps(stored.json()) == json.dumps(wanted)
    assert json.dumps(api.get(PATH).json()) == json.dumps(wanted)


def test_they_are_replaced_as_a_whole(api):
    api.put(PATH, {"a": 1, "b": 2})
    api.put(PATH, {"b": 3})
    assert api.get(PATH).json() == {"b": 3}
    assert Preferences.objects.count() == 1


def test_every_app_has_its_own_and_all_personal_tokens_share_one(api, client_for, owner, web, spa):
    api.put(PATH, {"of": "tokens"})
    first = APIClient(web.tokens(owner, "account:read_write")["access_token"])
    second = APIClient(spa.tokens(owner, "account:read_write")["access_token"])
    assert first.get(PATH).json() == {}
    first.put(PATH, {"of": "web"})
    assert second.get(PATH).json() == {}
    assert client_for(owner).get(PATH).json() == {"of": "tokens"}
    assert first.get(PATH).json() == {"of": "web"}


def test_other_users_have_their_own(api, client_for, restricted):
    api.put(PATH, {"a": 1})
    assert client_for(restricted).get(PATH).json() == {}


def body_of(length: int) -> bytes:
    """Return a body with this number of characters, not bytes."""
    return ('{"k": "' + "ø" * (length - 9) + '"}').encode()


def test_a_body_may_have_65535_characters_and_not_one_more(api):
    assert len(body_of(65_535).decode()) == 65_535
    assert api.put(PATH, body_of(65_535)).status_code == 200
    answer = api.put(PATH, body_of(65_536))
    assert answer.status_code == 400
    assert "65535" in answer.json()["errors"][0]["reason"]
    assert len(api.get(PATH).json()["k"]) == 65_526


def nested(levels: int) -> bytes:
    """Return an object nested this many levels deep, including itself."""
    return b'{"a":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":123456789012345678901234567890}',
        b'{"a":-9223372036854775809,"b":18446744073709551616}',
        b'{"a":' + b"9" * 308 + b"}",
        b'{"a":"' + b"9" * 5000 + b'"}',
        b'{"a":0.1000000000000000055511151231257827021181583404541015625,"b":1e400,"c":1E-400}',
        b'{"a":1.10,"b":1.0,"c":-0,"d":-0.0,"e":1E5}',
        b'{"a":"\\u0000","\\u0000":"b\\u0000"}',
        b'{"a":"\\ud800","b":"\\ud83d\\ude00","c":"\\/"}',
        b'{"a":"[[[[","b":"\\"}","1":"2"}',
        '{"b":"ø 💥","a":"\u2028"}'.encode(),
        b'{"z":" , ","a\\" : ":"\\t"}',
        nested(1000),
    ],
    ids=lambda body: body[:40].decode(),
)
def test_every_value_comes_back_as_it_was_sent(owner, body):
    # not by `api`, which parses answers: Python parses some numbers differently
    token = token_of(owner)
    headers = {"HTTP_AUTHORIZATION": f"Bearer {token}"}
    answer = Client().put(PATH, body, content_type="application/json", **headers)
    assert (answer.status_code, answer.content) == (200, body)
    assert call(token, PATH).content == body


def test_answers_have_no_blanks_between_values(api):
    answer = api.put(PATH, b'{"z": [1 , 2],\n "a b" :\t{ "\\" , ": "x : y" } }')
    assert answer.content == b'{"z":[1,2],"a b":{"\\" , ":"x : y"}}'
    assert api.get(PATH).content == answer.content


@pytest.mark.generated
@given(st.dictionaries(st.text(), st.recursive(st.none() | st.booleans() | st.integers() | st.text(), _containers)))
def test_the_grammar_accepts_every_json_object(wanted):
    for text in (json.dumps(wanted), json.dumps(wanted, ensure_ascii=False, indent=1)):
        parsers._check_grammar(text)


@pytest.mark.parametrize("character", ['"', "\\", "1", "-", "a", ",", ":", "[", "}", "\x01", "\x00", "é", "0"])
def test_the_grammar_accepts_exactly_the_texts_that_json_accepts(character):
    """The character is inserted at each position, and replaces the character there."""
    for at in range(len(SAMPLE) + 1):
        for text in (SAMPLE[:at] + character + SAMPLE[at:], SAMPLE[:at] + character + SAMPLE[at + 1 :]):
            assert is_taken(text) == is_json(text), text


def is_taken(text: str) -> bool:
    try:
        parsers._check_grammar(text)
    except ParseError:
        return False
    return True


def is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except json.JSONDecodeError:
        return False


LONG_NUMBER = "9" * 309


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (f'{{"a":{LONG_NUMBER}}}', "a"),
        (f'{{"a":"x","b":-{LONG_NUMBER}}}', "b"),
        (f'{{"a":{{"b":[1,[],{{"c":2}},{{"d:,[":{{}},"e" : 0.{LONG_NUMBER}e5}}]}}}}', "a.b[3].e"),
        (f'{{"a":[{LONG_NUMBER},1],"b":"\\"{{"}}', "a[0]"),
        (f'{{"\\ud800":1E{LONG_NUMBER}}}', "\\ud800"),
    ],
)
def test_a_number_of_more_than_308_digits_is_refused_by_its_name(api, body, field):
    answer = api.put(PATH, body.encode())
    assert (answer.status_code, errors(answer)) == (400, {field: "A number must have at most 308 digits"})
    assert api.get(PATH).json() == {}


def test_too_deep_nesting_is_refused_with_its_reason(api):
    for levels in (1001, 30_000):
        answer = api.put(PATH, nested(levels))
        assert errors(answer) == {None: "The body may be nested at most 1000 levels deep"}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"[]", "The body must be a JSON object"),
        (b'"x"', "The body must be a JSON object"),
        (b"null", "The body must be a JSON object"),
        (b"{", "The body is not valid JSON"),
        (b"{1: 2}", "The body is not valid JSON"),
        (b'{"a": 1}x', "The body is not valid JSON"),
        (b'{"a": NaN}', "The body is not valid JSON"),
        (b'{"a": 01}', "The body is not valid JSON"),
        (b'{"a": --1}', "The body is not valid JSON"),
        (b'{"a": "\x00"}', "The body is not valid JSON"),
        (b'{"a": "\xff"}', "The body is not valid JSON"),
        (b'\xef\xbb\xbf{"a": 1}', "The body is not valid JSON"),
        (b'"' + b'\\"' * 32_000, "The body is not valid JSON"),
    ],
)
def test_only_a_json_object_is_taken(api, body, reason):
    assert errors(api.put(PATH, body)) == {None: reason}
    assert api.get(PATH).json() == {}


def test_a_body_of_another_kind_is_not_read(api):
    assert api.put(PATH, File(b'{"a": 1}', "text/plain")).status_code == 415
    assert api.put(PATH, File(b'{"a": 1}', "application/json; charset=utf-8")).status_code == 200


def test_nothing_sent_is_an_empty_object(api):
    api.put(PATH, {"a": 1})
    assert api.put(PATH).content == b"{}"
    assert api.get(PATH).content == b"{}"


def test_a_client_that_was_deleted_meanwhile_writes_to_no_other_set(owner):
    Preferences.objects.create(user=owner, body='{"kept": 1}')
    with pytest.raises(Missing):
        preferences.write(Actor(owner.account_id, owner.pk, "owner", client_id="0" * 20), '{"new": 2}')
    assert Preferences.objects.get().body == '{"kept": 1}'
