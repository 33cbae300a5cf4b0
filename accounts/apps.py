from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"

    def ready(self) -> None:
        from accounts.models import GlobalGrants
        from config.api.access import register_grants

        register_grants(GlobalGrants.names())
