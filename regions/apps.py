from django.apps import AppConfig


class RegionsConfig(AppConfig):
    name = "regions"

    def ready(self) -> None:
        from accounts.entities import EntityKind, register
        from regions.models import Region

        register(EntityKind("region", Region, "/v4/regions/{id}"))
