from django.apps import AppConfig


class TagsConfig(AppConfig):
    name = "tags"

    def ready(self) -> None:
        from accounts.entities import EntityKind, register
        from tags.models import Tag

        register(EntityKind("tag", Tag, "/v4/tags/{id}", derived=True, key="label", noun="tags", page="tag"))
