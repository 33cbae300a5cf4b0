"""Forms with which staff add pools of addresses."""

from django.urls import reverse

ADD = "admin:compute_addresspool_add"


def add(admin, **fields):
    data = {
        "region": "us-test",
        "kind": "public",
        "network": "198.51.100.0/29",
        "gateway": "198.51.100.1",
        **fields,
    }
    return admin.post(reverse(ADD), data, follow=True)
