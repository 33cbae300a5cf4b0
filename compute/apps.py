from django.apps import AppConfig


class ComputeConfig(AppConfig):
    name = "compute"

    def ready(self):
        from accounts.entities import EntityKind, register
        from compute.jobs import checks  # noqa: F401  (registers itself)
        from compute.models import Instance

        register(EntityKind("compute", Instance, "/v4/compute/instances/{id}", grantable=True, taggable=True))
