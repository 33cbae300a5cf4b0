from django.apps import AppConfig


class ManagedConfig(AppConfig):
    name = "managed"

    def ready(self) -> None:
        from accounts.entities import EntityKind, register
        from compute.listeners import on_address_removed, on_addresses_changed
        from managed.models import Service
        from managed.services.compute_settings import forget_lost, reset

        register(
            EntityKind(
                "managed_service",
                Service,
                "/v4/managed/services/{id}",
                noun="monitoring",
                page="monitoring-service",
                blocks_closing="managed service",
            )
        )
        on_address_removed(reset)
        on_addresses_changed(forget_lost)
