"""``X-Filter`` and plain query parameters."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from compute.api.catalogue import KernelViewSet
from compute.filters.catalogue import KernelFilterSet, TypeFilterSet
from compute.models import Kernel
from compute.serializers.catalogue import KernelResource
from config.api.filters import MAX_DEPTH, TOO_DEEP, read_header
from config.api.ordering import orders_of
from config.errors import Invalid
from tests.factories import InstanceTypeFactory

BUILT = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)


@pytest.fixture
def kernels(db):
    for number, (label, kvm, built) in enumerate(
        [("alpha", True, BUILT), ("beta", False, None), ("gamma", True, datetime(2023, 1, 1, tzinfo=UTC))]
    ):
        Kernel.objects.create(
            id=f"k/{number}", label=label, version=f"5.{number}", kvm=kvm, architecture="x86_64", built=built
        )


def found(client: Client, wanted, query: str = "") -> list[str] | dict:
    # as a server passes on a client's UTF-8
    headers = {} if wanted is None else {"X-Filter": orjson.dumps(wanted).decode("latin-1")}
    response = client.get(f"/v4/compute/kernels{query}", headers=headers)
    body = response.json()
    if response.status_code != 200:
        assert response.status_code == 400
        return body["errors"][0]
    assert body["results"] == len(body["data"])
    return [kernel["label"] for kernel in body["data"]]


@pytest.mark.parametrize(
    ("wanted", "labels"),
    [
        ({}, ["alpha", "beta", "gamma"]),
        ({"+or": [{}, {"label": "beta"}]}, ["alpha", "beta", "gamma"]),
        ({"+and": []}, ["alpha", "beta", "gamma"]),
        ({"+or": []}, ["alpha", "beta", "gamma"]),
        ({"+or": [], "label": "beta"}, ["beta"]),
        ({"label": {"+or": [], "+contains": "et"}}, ["beta"]),
        ({"+or": [{"+and": []}, {"label": "beta"}]}, ["alpha", "beta", "gamma"]),
        ({"+and": [{"+or": [{}, {"label": "alpha"}]}, {"label": "beta"}]}, ["beta"]),
        ({"label": "beta"}, ["beta"]),
        ({"label": "beta", "kvm": True}, []),
        ({"label": {"+neq": "beta"}}, ["alpha", "gamma"]),
        ({"label": {"+contains": "a"}}, ["alpha", "beta", "gamma"]),
        ({"label": {"+contains": "%"}}, []),
        ({"label": {"+gt": "alpha", "+lte": "beta"}}, ["beta"]),
        ({"kvm": False}, ["beta"]),
        ({"built": None}, ["beta"]),
        ({"built": {"+neq": None}}, ["alpha", "gamma"]),
        ({"built": {"+neq": "2024-05-06T07:08:09"}}, ["beta", "gamma"]),
        ({"built": "2024-05-06T07:08:09"}, ["alpha"]),
        ({"built": {"+gte": "2024-05-06T07:08:09"}}, ["alpha"]),
        ({"built": {"+gt": "2024-05-06T07:08:09"}}, []),
        ({"built": {"+lte": "2024-05-06T07:08:09"}}, ["alpha", "gamma"]),
        ({"built": {"+lt": "2024-05-06T07:08:09"}}, ["gamma"]),
        ({"+or": [{"label": "alpha"}, {"label": "gamma"}]}, ["alpha", "gamma"]),
        ({"+and": [{"kvm": True}, {"+or": [{"label": "beta"}, {"label": "gamma"}]}]}, ["gamma"]),
        ({"label": {"+or": ["alpha", {"+contains": "mm"}]}}, ["alpha", "gamma"]),
        (
            {"+or": [{"label": "alpha"}, {"label": "gamma"}, {"kvm": False}, {"built": None}]},
            ["alpha", "beta", "gamma"],
        ),
        ({"+or": [{"label": "alpha"}, {"label": "gamma", "kvm": False}, {"label": "delta"}]}, ["alpha"]),
        ({"built": {"+or": ["2023-01-01T00:00:00", "2024-05-06T07:08:09", None]}}, ["alpha", "beta", "gamma"]),
        ({"label": {"+and": [{"+contains": "a"}, {"+or": ["beta", "gamma"]}]}}, ["beta", "gamma"]),
        ({"+order": "desc"}, ["gamma", "beta", "alpha"]),
        ({"+order": "asc", "kvm": True}, ["alpha", "gamma"]),
        ({"kvm": True, "+order_by": "label", "+order": "desc"}, ["gamma", "alpha"]),
        ({"+order_by": "version", "+order": "desc"}, ["gamma", "beta", "alpha"]),
        ({"label": "bêta"}, []),
        ([], ["alpha", "beta", "gamma"]),
        ([{}, {"+or": []}], ["alpha", "beta", "gamma"]),
        ([{"label": "beta"}], ["beta"]),
        ([{"kvm": True}, {"label": {"+contains": "mm"}}], ["gamma"]),
        ([{"label": "beta"}, {"label": "gamma"}], []),
        ([{"kvm": True}, {"+order_by": "label", "+order": "desc"}], ["gamma", "alpha"]),
        ([{"+order_by": "label"}, {"+order": "desc", "kvm": True}], ["gamma", "alpha"]),
        ([{"+order_by": "label", "kvm": True}, {"+order_by": "label"}], ["alpha", "gamma"]),
    ],
)
def test_a_filter_finds(kernels, anonymous, wanted, labels):
    assert found(anonymous, wanted) == labels


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ({"foo": 1}, "Cannot filter on foo"),
        ({"label": {"+like": "a"}}, "Unknown operator +like"),
        ({"label": {"like": "a"}}, "Unknown operator like"),
        ({"label": {"+or": ["beta", {"+like": "a"}]}}, "Unknown operator +like"),
        ({"+or": [{"+and": [{"+gt": 3}]}]}, "Unknown operator +gt"),
        ({"+and": [{"+order": "asc"}]}, "Unknown operator +order"),
        ({"label": {}}, "label is not valid"),
        ({"label": {"+or": []}}, "label is not valid"),
        ({"label": {"+or": ["beta", {}]}}, "label is not valid"),
        ({"+or": [{"label": "beta"}, {"label": {}}]}, "label is not valid"),
        ({"+xor": []}, "Unknown operator +xor"),
        ({"+or": {}}, "+or takes an array of filters"),
        ({"+or": [1]}, "+and and +or take arrays of filter objects"),
        ({"+or": [{"label": "beta"}, {"label": 7}]}, "label is not valid"),
        ({"label": {"+and": "beta"}}, "+and takes an array of filters"),
        ({"+and": [1]}, "+and and +or take arrays of filter objects"),
        ({"label": 7}, "label is not valid"),
        ({"label": ["a"]}, "label is not valid"),
        ({"label": "a\x00"}, "label is not valid"),
        ({"kvm": "true"}, "kvm is not valid"),
        ({"kvm": {"+gt": True}}, "Cannot use +gt on kvm"),
        ({"kvm": {"+contains": "t"}}, "Cannot use +contains on kvm"),
        ({"built": "yesterday"}, "built is not valid"),
        ({"built": "9999-12-31T23:59:59"}, "built is not valid"),
        ({"+order_by": "foo"}, "Cannot order by foo"),
        ({"+order_by": ["label"]}, "+order_by is not valid"),
        ({"+order_by": None}, "+order_by is not valid"),
        ({"+order": None}, "+order must be asc or desc"),
        ({"+order_by": "label", "+order": "up"}, "+order must be asc or desc"),
        ({"+and": [{"+order_by": "label"}]}, "Unknown operator +order_by"),
        ({"built": {"+contains": "2024"}}, "Cannot use +contains on built"),
        ("label", "X-Filter must be a JSON object, or an array of such objects"),
        ([7], "X-Filter must be a JSON object, or an array of such objects"),
        ([[{"label": "beta"}]], "X-Filter must be a JSON object, or an array of such objects"),
        ([{"label": "beta"}, {"foo": 1}], "Cannot filter on foo"),
        ([{"+order_by": "label"}, {"+order_by": "version"}], "X-Filter has more than one +order_by"),
        ([{"+order": "asc"}, {"+order": "desc"}], "X-Filter has more than one +order"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused_and_named(kernels, anonymous, wanted, reason):
    assert found(anonymous, wanted) == {"field": "X-Filter", "reason": reason}


@pytest.mark.parametrize("header", ["{", "nope", "\xff", '{"label": NaN}', '"a"', "[[[", "1" * 500])
def test_a_header_that_is_not_json_is_refused(anonymous, db, header):
    response = anonymous.get("/v4/compute/kernels", headers={"X-Filter": header})
    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == "X-Filter"


@pytest.mark.parametrize("header", ["", " "])
def test_an_empty_header_is_no_filter(kernels, anonymous, header):
    # by the statement that is compiled once, as if there were no header
    KernelViewSet._reads.clear()
    answers = [anonymous.get("/v4/compute/kernels", headers=given) for given in ({"X-Filter": header}, {})]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].content == answers[1].content
    assert len(KernelViewSet._reads) == 1


def nested(levels: int, innermost: Any, operator: str = "+and") -> dict:
    for _ in range(levels):
        innermost = {operator: [innermost]}
    return innermost


@pytest.mark.parametrize("operator", ["+and", "+or"])
@pytest.mark.parametrize("innermost", [{"label": "beta"}, {"label": {"+contains": "bet"}}])
def test_filters_nest_20_levels(kernels, anonymous, operator, innermost):
    assert MAX_DEPTH == 20
    assert found(anonymous, nested(20, innermost, operator)) == ["beta"]
    for levels in (21, 22, 100, 400, 1000, 3000):
        header = nested_text(levels, orjson.dumps(innermost).decode(), operator)
        response = anonymous.get("/v4/compute/kernels", headers={"X-Filter": header})
        assert response.status_code == 400
        assert response.json()["errors"] == [
            {"field": "X-Filter", "reason": "X-Filter nests deeper than 20 levels"}
        ]


def nested_text(levels: int, innermost: str, operator: str) -> str:
    """Return the text of a filter like `nested`, deeper than JSON libraries can write."""
    return f'{{"{operator}":[' * levels + innermost + "]}" * levels


def test_levels_within_a_field_count_too(kernels, anonymous):
    assert found(anonymous, nested(10, {"label": nested(10, "beta", "+or")})) == ["beta"]
    assert found(anonymous, nested(10, {"label": nested(11, "beta", "+or")}))["reason"] == TOO_DEEP


def test_brackets_within_texts_are_no_levels(anonymous, db):
    for header in ('{"label": "' + "[" * 2000, '{"label": "' + '\\"[' * 2000 + '"', "{" + '"[{":1,' * 1000):
        response = anonymous.get("/v4/compute/kernels", headers={"X-Filter": header})
        assert response.json()["errors"] == [{"field": "X-Filter", "reason": "X-Filter is not valid JSON"}]


@pytest.mark.parametrize(
    "header",
    [
        '{"label": ' + "[" * 900 + "]" * 900 + "}",
        '{"+order_by": ' + "[" * 900 + "]" * 900 + "}",
        '{"+order": ' + "[" * 900 + "]" * 900 + "}",
        "[" * 900 + "]" * 900,
        '{"a":' * 900 + "1" + "}" * 900,
    ],
)
def test_deep_values_are_refused(anonymous, db, header):
    response = anonymous.get("/v4/compute/kernels", headers={"X-Filter": header})
    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == "X-Filter"


def test_a_header_has_64_kb(kernels, anonymous):
    def of_length(length: int) -> str:
        ids = ",".join(f'{{"id":"k/{number}"}}' for number in range(3000))
        text = f'{{"+or":[{ids}],"label":{{"+neq":""}}}}'
        return text.replace('""', f'"{"x" * (length - len(text))}"')

    answers = {
        length: anonymous.get("/v4/compute/kernels", headers={"X-Filter": of_length(length)})
        for length in (64 * 1024, 64 * 1024 + 1)
    }
    assert [kernel["id"] for kernel in answers[65536].json()["data"]] == ["k/0", "k/1", "k/2"]
    assert answers[65537].status_code == 400
    assert answers[65537].json()["errors"] == [{"field": "X-Filter", "reason": "X-Filter is longer than 64 KB"}]


@pytest.mark.parametrize(
    "wanted",
    [
        {"+or": [{"memory": number} for number in range(500)]},
        {"memory": {"+or": list(range(500))}},
        {"+and": [{"+or": [{"memory": number} for number in range(500)]}]},
    ],
)
def test_a_page_of_values_is_one_condition(wanted):
    condition = read_header(orjson.dumps(wanted).decode(), TypeFilterSet.base_filters, {}).condition
    assert list(condition.flatten())[-1] == list(range(500))
    assert str(condition).count("memory") == 1


def test_as_many_conditions_as_fit_are_taken(kernels, anonymous):
    for each in ({"label": {"+contains": "a"}}, {"kvm": True, "label": "alpha"}, {"built": "2024-05-06T07:08:09"}):
        several = [each] * (64 * 1024 // (len(orjson.dumps(each)) + 1) - 1)
        assert "alpha" in found(anonymous, {"+or": several})
        assert "alpha" in found(anonymous, {"+and": several})


@pytest.mark.parametrize(
    ("query", "labels"),
    [
        ("?label=beta", ["beta"]),
        ("?kvm=TRUE&label=gamma", ["gamma"]),
        ("?built=2024-05-06T07:08:09", ["alpha"]),
        ("?colour=red", ["alpha", "beta", "gamma"]),
        ("?+order=desc&+order_by=label&+or=", ["alpha", "beta", "gamma"]),
        ("?label=alpha&label=beta", []),
        ("?kvm=true&kvm=true", ["alpha", "gamma"]),
    ],
)
def test_plain_query_parameters_filter_too(kernels, anonymous, query, labels):
    assert found(anonymous, None, query) == labels


def test_a_plain_parameter_of_the_wrong_type_is_refused(kernels, anonymous):
    assert found(anonymous, None, "?kvm=perhaps") == {"field": "X-Filter", "reason": "kvm is not valid"}


@pytest.mark.parametrize("text", ["1_0", "١٠", " 10", "+10", "1.0", "", "9" * 5000])
def test_a_plain_number_is_written_in_digits(text):
    memory = TypeFilterSet.base_filters["memory"]
    assert (memory.plain("10"), memory.plain("-10")) == (10, -10)
    with pytest.raises(Invalid):
        memory.plain(text)


def test_header_and_query_hold_together(kernels, anonymous):
    assert found(anonymous, {"kvm": True}, "?label=gamma") == ["gamma"]
    assert found(anonymous, {"kvm": False}, "?label=gamma") == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8) | st.sampled_from(["2024-01-01T00:00:00", "label", "asc"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["label", "kvm", "built", "version", "+and", "+or", "+gt", "+lte", "+neq", "+contains", "+order_by",
             "+order", "x"]
        ),
        inner,
        max_size=3,
    ),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.django_db
@settings(max_examples=200)
@given(wanted=JSON)
def test_no_filter_breaks_a_list(anonymous, wanted):
    try:
        header = orjson.dumps(wanted).decode("latin-1")
    except TypeError:  # an integer beyond 64 bits, or a lone surrogate, which orjson does not write
        return
    assert anonymous.get("/v4/compute/kernels", headers={"X-Filter": header}).status_code in (200, 400)


def test_a_number_too_large_for_its_column_matches_nothing(anonymous, db):
    response = anonymous.get("/v4/compute/types", headers={"X-Filter": '{"memory": 9999999999999}'})
    assert response.status_code == 200
    assert response.json() == {"data": [], "page": 1, "pages": 1, "results": 0}
    for value in ("1e400", "99999999999999999999999", "-1"):
        assert anonymous.get("/v4/compute/types", headers={"X-Filter": f'{{"memory": {value}}}'}).status_code in (
            200,
            400,
        )


def test_numbers_of_any_size_are_taken_together(anonymous, db):
    numbers = [0, -1, 2**31, 2**40, 2**63 - 1, 2**64 - 1, -(2**63)]
    InstanceTypeFactory(memory=2**31 - 1)
    for several in (numbers, [*numbers, 2**31 - 1]):
        header = orjson.dumps({"memory": {"+or": several}}).decode()
        response = anonymous.get("/v4/compute/types", headers={"X-Filter": header})
        assert response.json()["results"] == (2**31 - 1 in several)


def test_an_array_matches_when_any_element_does(anonymous, db):
    from regions.models import Region

    Region.objects.create(id="a", country="us", capabilities=["Computes", "Vlans"])
    Region.objects.create(id="b", country="us", capabilities=["Computes"])
    for wanted, ids in [
        ({"capabilities": "Vlans"}, ["a"]),
        ({"capabilities": {"+neq": "Vlans"}}, ["b"]),
        ({"capabilities": {"+contains": "omp"}}, ["a", "b"]),
        ({"capabilities": {"+contains": "lan"}}, ["a"]),
        ({"capabilities": {"+or": ["Vlans", "Kubernetes"]}}, ["a"]),
        ({"+or": [{"capabilities": "Vlans"}, {"capabilities": "Computes"}]}, ["a", "b"]),
    ]:
        response = anonymous.get("/v4/regions", headers={"X-Filter": orjson.dumps(wanted).decode()})
        assert [region["id"] for region in response.json()["data"]] == ids


@pytest.mark.parametrize(
    ("wanted", "sizes"),
    [
        ({"memory": {"+contains": "09"}}, [4096]),
        ({"memory": {"+contains": "4"}}, [1024, 4096]),
        ({"memory": {"+contains": 24}}, [1024]),
        ({"memory": {"+contains": "%"}}, []),
        ({"memory": {"+contains": "x"}}, []),
        ({"+or": [{"id": {"+contains": "4096"}}, {"memory": {"+contains": "102"}}]}, [1024, 4096]),
    ],
)
def test_numbers_are_searched_by_their_digits(anonymous, db, wanted, sizes):
    for memory in (1024, 4096):
        InstanceTypeFactory(id=f"t-{memory}", memory=memory)
    response = anonymous.get("/v4/compute/types", headers={"X-Filter": orjson.dumps(wanted).decode()})
    assert sorted(each["memory"] for each in response.json()["data"]) == sizes


@pytest.mark.parametrize("value", [True, None, [], {}, "\x00"])
def test_the_text_to_search_for_is_a_text_or_a_number(anonymous, db, value):
    response = anonymous.get(
        "/v4/compute/types", headers={"X-Filter": orjson.dumps({"memory": {"+contains": value}}).decode()}
    )
    assert response.status_code == 400
    assert response.json()["errors"] == [{"field": "X-Filter", "reason": "memory is not valid"}]


def test_a_foreign_key_can_be_searched(anonymous, db):
    response = anonymous.get("/v4/compute/types", headers={"X-Filter": '{"successor": {"+contains": "g6"}}'})
    assert response.status_code == 200


def test_reading_needs_no_database():
    fields, orders = KernelFilterSet.base_filters, orders_of(KernelResource, KernelFilterSet)
    with pytest.raises(Invalid, match="Cannot filter on built_at"):
        read_header('{"built_at": 1}', fields, orders)
