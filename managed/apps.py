from django.apps import AppConfig


class ManagedConfig(AppConfig):
    name = "managed"
