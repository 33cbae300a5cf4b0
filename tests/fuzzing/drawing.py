"""Requests drawn from the OpenAPI document by Schemathesis, valid ones and invalid ones."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson
import schemathesis
from hypothesis import strategies as st
from schemathesis.generation.feedback import NO_FEEDBACK

from config.filters import OPERATORS
from config.web.handler import Handler
from tests.client import document
from tests.config.api.routes import Route

MODES = list(schemathesis.GenerationMode)
SELDOM, OFTEN = 1, 3
"""The weights of rare and frequent ways to draw a request."""


@cache
def operations() -> Any:
    """Return the document as Schemathesis reads it. Its requests go straight into the WSGI application."""
    found = schemathesis.openapi.from_dict(document())
    found.config.generation.update(with_security_parameters=False)  # the caller's token is sent
    found.app = Handler()
    return found


def operation(route: Route) -> Any:
    return operations()[route.documented][route.method.upper()]


def systematic(route: Route, values: dict[str, Any], most: int) -> Iterator[Any]:
    """Yield requests with each bound of each parameter and field kept, and broken: at most `most`, chosen
    evenly.

    Except in requests that break the path, parameters have `values` of existing objects.
    """
    own = operation(route)
    generation = operations().config.generation_for(operation=own, phase="coverage")
    cases = [
        case
        for case in operations().iter_coverage_cases(own, generation_modes=MODES, generation_config=generation)
        if case.method == route.method.upper()
    ]
    for number in range(min(most, len(cases))):
        case = cases[number * len(cases) // min(most, len(cases))]
        broken = case.meta.phase.data.parameter_location
        if broken is None or broken.name != "PATH":
            case.path_parameters.update(values)
        yield case


def drawn(route: Route, values: dict[str, Any], good: Any) -> st.SearchStrategy[Any]:
    """Return random requests. Most name existing objects, and most bodies are a `good` one with a few changes.

    A body that is wrong all over is refused at once, and shows little.
    """
    own = operation(route)
    takes_more = bool(own.body or own.query or own.headers)
    ways = []
    for mode in MODES:
        if takes_more or mode.is_positive:
            strategy = own.as_strategy(generation_mode=mode, path_parameters=values or None, feedback=NO_FEEDBACK)
            ways += OFTEN * [strategy]
        if values:
            ways += SELDOM * [own.as_strategy(generation_mode=mode, feedback=NO_FEEDBACK)]
    return _varied(ways, good, _filters(route) if route.action == "list" else None)


@st.composite
def _varied(draw: st.DrawFn, ways: list[Any], good: Any, filters: st.SearchStrategy[str] | None) -> Any:
    case = draw(st.sampled_from(ways).flatmap(lambda way: way))
    if isinstance(good, dict) and isinstance(case.body, dict) and draw(st.integers(0, OFTEN)):
        names = sorted(case.body)
        kept = draw(st.sets(st.sampled_from(names), max_size=OFTEN)) if names else ()
        case.body = good | {name: case.body[name] for name in sorted(kept)}
    if filters is not None and draw(st.integers(0, OFTEN)):
        # in the document it is a text, and a random text is hardly ever JSON
        case.headers["X-Filter"] = draw(filters)
    return case


def _filters(route: Route) -> st.SearchStrategy[str]:
    """Return filters of the route's fields, with operators and values of which some fit."""
    names = sorted(route.filters)
    if not names:
        return st.just("{}")
    texts = st.sampled_from(["web", "", "198.51.100.7", "2026-01-02T03:04:05", "%_\\", "é"]) | st.text(max_size=4)
    values = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | texts
    operators = st.sampled_from(sorted(f"+{name}" for name in OPERATORS))
    of_field = values | st.dictionaries(operators, values, min_size=1, max_size=2)
    plain = st.dictionaries(st.sampled_from(names), of_field, max_size=2)
    nested = st.dictionaries(st.sampled_from(["+and", "+or"]), st.lists(plain, max_size=3), max_size=2)
    order = st.fixed_dictionaries(
        {}, optional={"+order_by": st.sampled_from(names), "+order": st.sampled_from(["asc", "desc", "up"])}
    )
    return st.builds(lambda *parts: _header({**parts[0], **parts[1], **parts[2]}), plain, nested, order)


def _header(wanted: dict[str, Any]) -> str:
    try:
        return orjson.dumps(wanted).decode("latin-1")
    except TypeError:  # for an integer beyond 64 bits
        return json.dumps(wanted)
