"""The owner's browser on the page that creates an instance, and helpers to read the page."""

import re

import pytest
from django.test import Client

from accounts.models import User
from tests.compute.at_consoles import signed_in
from tests.world import STRONG

PAGE = "/home/instances/new"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2kUvSdN0sEnGm6h0bsmv7JnEa2zmDLWQHnZoNJNZzY"
SCRIPT = """#!/bin/sh
# <UDF name="motd" label="Message of the day" default="welcome" />
# <UDF name="role" label="Role" oneOf="web,db" />
# <UDF name="parts" label="Parts" manyOf="a,b,c" default="a,b" />
# <UDF name="db_password" label="Password of the database" />
"""


@pytest.fixture
def user(world) -> User:
    return User.objects.get(pk=world.actor.user_id)


@pytest.fixture
def browser(user) -> Client:
    return signed_in(user)


@pytest.fixture
def fields(world) -> dict:
    """Return the fields of a form with every choice made."""
    return {
        "region": world.region.pk,
        "image": world.image.pk,
        "type": world.type.pk,
        "booted": "on",
        "swap_size": "512",
        "root_pass": STRONG,
    }


def checked(page: str, name: str) -> list[str]:
    """Return the values of the checked inputs with a name."""
    tags = [tag for tag in re.findall(rf'<input[^>]*name="{name}"[^>]*>', page) if " checked" in tag]
    values = [re.search(r'value="([^"]*)"', tag) for tag in tags]
    return [value[1] if value else "on" for value in values]
