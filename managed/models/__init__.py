from managed.models.contacts import Contact
from managed.models.credentials import Credential, Decryption, KeyPair
from managed.models.services import Issue, Measurement, Service
from managed.models.settings import ComputeSettings

__all__ = [
    "ComputeSettings",
    "Contact",
    "Credential",
    "Decryption",
    "Issue",
    "KeyPair",
    "Measurement",
    "Service",
]
