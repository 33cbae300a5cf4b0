from django.contrib.admin.apps import AdminConfig


class SiteConfig(AdminConfig):
    """Django's admin, with a site of ours."""

    default_site = "config.admin.site.Site"
