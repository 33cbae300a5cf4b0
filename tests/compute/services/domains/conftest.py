"""A name server for the tests that need one."""

from collections.abc import Iterator

import pytest

from tests.compute.services.domains.knot import Knot, running


@pytest.fixture
def knot(tmp_path) -> Iterator[Knot]:
    yield from running(tmp_path)
