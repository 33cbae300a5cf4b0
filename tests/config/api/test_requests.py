"""Rules for every request, on any endpoint."""

import errno

import pytest
from django.db import OperationalError
from django.test import Client

from compute.models import Image
from config.api.responses import JSONResponse
from config.api.views import ListViewSet, RetrieveViewSet
from config.limits import rates
from tests.factories import token_of

ERROR_KEYS = {"field", "reason"}


def error_of(response) -> dict:
    body = response.json()
    assert list(body) == ["errors"]
    (error,) = body["errors"]
    assert set(error) == ERROR_KEYS
    return error


@pytest.fixture
def image(account) -> Image:
    from django.utils.timezone import now

    Image.objects.create(id="private/1", label="Mine", account=account, created=now())
    return Image.objects.create(id="compute/test11", label="Test 11", is_public=True, created=now())


@pytest.mark.parametrize("path", ["/v4/nowhere", "/v4beta/nowhere", "/v4/regions/nowhere/x", "/nowhere"])
def test_an_unknown_path_answers_404_in_the_error_body(anonymous, db, path):
    response = anonymous.get(path)
    assert response.status_code == 404
    assert error_of(response) == {"field": None, "reason": "Not found"}


def test_a_wrong_method_answers_405_in_the_error_body(anonymous, db):
    response = anonymous.delete("/v4/regions")
    assert response.status_code == 405
    assert error_of(response) == {"field": None, "reason": "Method Not Allowed"}
    assert "GET" in response["Allow"]


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer " + "0" * 64,
        "Basic dTpw",
        "Bearer \xff",
        "Bearer " + "x" * 5000,
        "0" * 64,
        "Bearer a b",
    ],
)
def test_a_bad_token_answers_401_even_where_none_is_needed(db, header):
    response = Client().get("/v4/regions", headers={"Authorization": header})
    assert response.status_code == 401
    assert error_of(response) == {"field": None, "reason": "Invalid Token"}
    assert response["WWW-Authenticate"] == "Bearer"


def test_no_token_answers_401_where_one_is_needed(anonymous, db):
    response = anonymous.get("/v4/compute/instances")
    assert response.status_code == 401
    assert error_of(response)["reason"] == "Invalid Token"


def test_a_token_without_the_scope_answers_401(client_of, owner):
    response = client_of(owner, "images:read_write").get("/v4/compute/instances")
    assert response.status_code == 401
    assert error_of(response) == {
        "field": None, "reason": "Your OAuth token is not authorized to use this endpoint.",
    }  # fmt: skip
    assert response["WWW-Authenticate"] == "Bearer"
    # headers that distinguish this case from an invalid token
    assert response["X-OAuth-Scopes"] == "images:read_write"
    assert response["X-Accepted-OAuth-Scopes"] == "computes:read_only"
    assert client_of(owner, "computes:read_write").get("/v4/compute/instances").status_code == 200


def test_headers_that_every_answer_carries(client_of, owner, anonymous):
    full = client_of(owner).get("/v4/compute/instances")
    assert full["X-OAuth-Scopes"] == "*"
    assert full["X-Accepted-OAuth-Scopes"] == "computes:read_only"
    assert full["Cache-Control"] == "private, max-age=0, no-store"
    narrow = client_of(owner, "computes:read_only images:read_only").get("/v4/regions")
    assert narrow["X-OAuth-Scopes"] == "computes:read_only images:read_only"
    assert narrow["X-Accepted-OAuth-Scopes"] == "*"
    assert narrow["Cache-Control"] == "private, max-age=900"
    for response in (full, narrow, anonymous.get("/v4/regions"), anonymous.get("/v4/nowhere")):
        assert response["Content-Type"] == "application/json"
        assert response["Content-Security-Policy"] == "default-src 'none'"
        assert response["X-Content-Type-Options"] == "nosniff"
        assert response["X-Frame-Options"] == "DENY"
        assert {"Authorization", "X-Filter"} <= {name.strip() for name in response["Vary"].split(",")}
        assert response["X-RateLimit-Limit"].isdigit()
        assert response["X-RateLimit-Remaining"].isdigit()
        assert response["X-RateLimit-Reset"].isdigit()
        assert int(response["Content-Length"]) == len(response.content)
        assert not response.cookies
    assert anonymous.get("/v4/regions")["X-OAuth-Scopes"] == "unknown"
    assert anonymous.get("/v4/regions/nowhere")["Cache-Control"] == "private, max-age=0, no-store"


def test_v4beta_slashes_and_escapes_reach_the_same_endpoint(anonymous, image):
    answers = {
        anonymous.get(path).content
        for path in (
            "/v4/images/compute/test11",
            "/v4beta/images/compute/test11",
            "/v4//images//compute/test11/",
            "/v4/images/compute%2Ftest11",
        )
    }
    assert len(answers) == 1
    assert b'"compute/test11"' in answers.pop()


def test_private_images_show_only_to_their_account(anonymous, client_of, owner, image, db):
    def ids(client) -> list[str]:
        return [each["id"] for each in client.get("/v4/images").json()["data"]]

    assert ids(anonymous) == ["compute/test11"]
    assert ids(client_of(owner)) == ["private/1", "compute/test11"]
    assert ids(client_of(owner, "computes:read_only")) == ["compute/test11"]
    assert anonymous.get("/v4/images/private/1").status_code == 404
    assert client_of(owner).get("/v4/images/private/1").status_code == 200
    other = client_of(owner, "computes:read_only")
    assert other.get("/v4/images/private/1").status_code == 404
    assert other.get("/v4/images/compute/test11").status_code == 200  # the same as without a token


def test_browsers_may_call_from_any_origin(anonymous, db):
    preflight = anonymous.options(
        "/v4/compute/instances",
        headers={
            "Origin": "https://console.example",
            "Access-Control-Request-Method": "PUT",
            "Access-Control-Request-Headers": "authorization,x-filter",
        },
    )
    assert preflight.status_code == 200
    assert preflight["Access-Control-Allow-Origin"] == "*"
    assert preflight["Access-Control-Allow-Methods"] == "HEAD, GET, OPTIONS, POST, PUT, DELETE"
    assert (
        preflight["Access-Control-Allow-Headers"]
        == "Authorization, Origin, X-Requested-With, Content-Type, Accept, X-Filter"
    )
    assert preflight["Access-Control-Max-Age"] == "86400"
    assert "Access-Control-Allow-Credentials" not in preflight
    assert anonymous.options("/v4/compute/instances").status_code == 200
    assert "Access-Control-Allow-Origin" not in anonymous.get("/healthz", headers={"Origin": "https://x.example"})


@pytest.mark.parametrize("headers", [{}, {"Origin": "https://console.example"}], ids=["plain", "across origins"])
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v4/regions", 200),
        ("GET", "/v4beta/regions/", 200),
        ("GET", "/v4/account", 401),
        ("GET", "/v4/nothing", 404),
        ("DELETE", "/v4/regions", 405),
        ("POST", "/oauth/token", 400),
        ("GET", "/oauth/token", 405),
        ("POST", "/oauth/revoke", 400),
        ("OPTIONS", "/v4/account", 200),
        ("OPTIONS", "/oauth/token", 200),
        ("GET", "/openapi.json", 200),
    ],
)
def test_every_answer_is_open_to_browsers(anonymous, db, method, path, status, headers):
    answer = anonymous.generic(method, path, headers=headers)
    assert answer.status_code == status
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert {"X-OAuth-Scopes", "X-Accepted-OAuth-Scopes", "X-RateLimit-Reset", "Retry-After"} <= set(
        answer["Access-Control-Expose-Headers"].split(", ")
    )
    assert "X-Filter" in answer["Access-Control-Allow-Headers"]
    assert "DELETE" in answer["Access-Control-Allow-Methods"]
    assert "origin" not in answer.get("Vary", "").lower()


@pytest.mark.parametrize("asked", [{}, {"Access-Control-Request-Method": "GET", "Origin": "https://x.example"}])
@pytest.mark.parametrize("token", ["none", "good", "bad"])
def test_no_preflight_counts_against_a_limit(anonymous, owner, settings, asked, token):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "overall": "1/60"}
    rates.forget()
    tokens = {"good": token_of(owner), "bad": "0" * 64}
    headers = {"Authorization": f"Bearer {tokens[token]}"} if token in tokens else {}
    for _ in range(3):
        preflight = anonymous.options("/v4/regions", headers={**headers, **asked})
        assert preflight.status_code == 200
        assert not [name for name in preflight.headers if name.startswith("X-RateLimit")]
        assert "Retry-After" not in preflight
    assert anonymous.get("/v4/regions", headers=headers if token == "good" else {}).status_code == 200


def test_head_is_get_without_a_body(anonymous, db):
    response = anonymous.head("/v4/regions")
    assert response.status_code == 200
    assert response.content == b""


@pytest.mark.parametrize(
    ("query", "field", "reason"),
    [
        ("page=0", "page", "page must be at least 1"),
        ("page=x", "page", "page must be at least 1"),
        ("page=-1", "page", "page must be at least 1"),
        ("page=٣", "page", "page must be at least 1"),
        ("page=1.0", "page", "page must be at least 1"),
        ("page_size=24", "page_size", "page_size must be 25-500"),
        ("page_size=501", "page_size", "page_size must be 25-500"),
        ("page_size=", "page_size", "page_size must be 25-500"),
    ],
)
def test_pages_out_of_bounds_are_refused_by_name(anonymous, db, query, field, reason):
    response = anonymous.get(f"/v4/regions?{query}")
    assert response.status_code == 400
    assert error_of(response) == {"field": field, "reason": reason}


def test_pages(anonymous, db):
    from regions.models import Region

    assert anonymous.get("/v4/regions").json() == {"data": [], "page": 1, "pages": 1, "results": 0}
    Region.objects.bulk_create(Region(id=f"r-{number:02}", country="us") for number in range(30))
    first = anonymous.get("/v4/regions?page_size=25").json()
    assert (len(first["data"]), first["page"], first["pages"], first["results"]) == (25, 1, 2, 30)
    last = anonymous.get("/v4/regions?page_size=25&page=2").json()
    assert [region["id"] for region in last["data"]] == [f"r-{number}" for number in range(25, 30)]
    for beyond in ("3", "9" * 18, "9" * 19, "9" * 5000):
        response = anonymous.get(f"/v4/regions?page_size=25&page={beyond}")
        assert response.status_code == 200
        asked = int(beyond) if len(beyond) < 20 else 2**63 - 1
        assert response.json() == {"data": [], "page": asked, "pages": 2, "results": 30}


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b'"text"', "application/json", 400),
        (b"null", "application/json", 400),
        (b'{"label": "\\ud800"}', "application/json", 400),
        (b'{"label": "\xff"}', "application/json", 400),
        (b'{"label": NaN}', "application/json", 400),
        (b'{"label": "a\\u0000b"}', "application/json", 400),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000, "application/json", 400),
        (b"x" * 3_000_000, "application/json", 400),
        (b"label=web", "application/x-www-form-urlencoded", 415),
        (b"label=web", "text/plain", 415),
        (b'{"a": 1}', "", 400),  # parsed as JSON, without required fields
        (b'{"a": 1}', "Application/JSON; charset=utf-8", 400),
    ],
)
def test_bodies_that_are_no_json_objects_are_refused(client_of, owner, body, content_type, status):
    response = client_of(owner).generic("POST", "/v4/compute/instances", body, content_type)
    assert response.status_code == status, response.content
    assert set(response.json()["errors"][0]) == ERROR_KEYS


@pytest.mark.parametrize("body", [b"", b"\r", b" \n\t "])
def test_a_body_of_blanks_is_an_empty_object(client_of, owner, body):
    response = client_of(owner).generic("PUT", "/v4/account", body, "application/json")
    assert (response.status_code, response.json()["company"]) == (200, owner.account.company)


@pytest.mark.parametrize("depth", [990, 1020])
def test_a_nul_is_found_however_deep_it_is(client_of, owner, depth):
    body = b'{"a": ' + b"[" * depth + rb'"\u0000"' + b"]" * depth + b"}"
    answer = client_of(owner).generic("PUT", "/v4/profile", body, "application/json")
    assert answer.status_code == 400, answer.content
    assert error_of(answer)["field"] == "a" + "[0]" * depth


@pytest.mark.parametrize(
    ("body", "field"),
    [(rb'{"": {"a": ["\u0000"]}}', ".a[0]"), (rb'{"a": {"": "\u0000"}}', "a.")],
)
def test_an_empty_key_is_a_part_of_the_path_of_a_nul(client_of, owner, body, field):
    answer = client_of(owner).generic("PUT", "/v4/profile", body, "application/json")
    assert (answer.status_code, error_of(answer)["field"]) == (400, field)


def test_a_failure_nobody_foresaw_is_logged_and_answers_500_in_the_error_body(db, monkeypatch, caplog):
    monkeypatch.setattr(ListViewSet, "list", lambda self, request: 1 / 0)
    response = Client(raise_request_exception=False).get("/v4/regions")
    assert response.status_code == 500
    assert error_of(response) == {"field": None, "reason": "An unexpected error occurred"}
    assert "ZeroDivisionError" in caplog.text


def test_a_database_that_is_gone_answers_503(anonymous, db, monkeypatch):
    def gone(self, request):
        raise OperationalError("could not connect")

    monkeypatch.setattr(ListViewSet, "list", gone)
    response = anonymous.get("/v4/regions")
    assert response.status_code == 503
    assert error_of(response)["field"] is None


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "full"), OperationalError('could not extend file "x": No space left on device')],
    ids=["ours", "the database's"],
)
def test_a_full_disk_answers_503_and_says_so(anonymous, db, monkeypatch, error):
    def full(self, request):
        raise error

    monkeypatch.setattr(ListViewSet, "list", full)
    response = anonymous.get("/v4/regions")
    assert response.status_code == 503
    assert error_of(response)["reason"] == "There is no room to store this now, try again later"


def test_the_first_failing_check_answers(client_of, restricted, monkeypatch):
    """In this order: token, method, scope, grant, object."""
    monkeypatch.setattr(RetrieveViewSet, "retrieve", lambda self, request, **path: JSONResponse())
    client = client_of(restricted, "images:read_only")
    assert (
        client.post("/v4/compute/instances", {}, "application/json")
        .json()["errors"][0]["reason"]
        .startswith("Your")
    )
    client = client_of(restricted)
    refused = client.post("/v4/compute/instances", {}, "application/json")
    assert (refused.status_code, error_of(refused)["reason"]) == (403, "Unauthorized")
    assert client.put("/v4/compute/instances/1", {}, "application/json").status_code == 404
