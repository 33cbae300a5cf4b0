from django.apps import AppConfig


class ManagedConfig(AppConfig):
    name = "managed"

    def ready(self) -> None:
        from compute.listeners import on_address_removed, on_addresses_changed
        from managed.services.compute_settings import forget_lost, reset

        on_address_removed(reset)
        on_addresses_changed(forget_lost)
