"""An image of the account, and the owner's browser."""

import pytest
from django.test import Client

from compute.models import Image
from tests.compute.at_consoles import signed_in
from tests.factories import ImageFactory


@pytest.fixture
def image(account) -> Image:
    return ImageFactory(
        id="private/7", number=7, account=account, is_public=False, label="golden", description="As of May"
    )


@pytest.fixture
def browser(owner) -> Client:
    return signed_in(owner)
