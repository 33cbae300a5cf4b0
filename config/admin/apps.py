from django.contrib.admin.apps import AdminConfig


class SiteConfig(AdminConfig):
    """The admin app, with the project's own site."""

    default_site = "config.admin.site.Site"
