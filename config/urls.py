"""Every URL of the project. The API answers under /v4 and, unchanged, under /v4beta."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

import config.api.paths  # noqa: F401 - registers the path converters
from accounts.api.urls import urlpatterns as accounts
from accounts.oauth.urls import urlpatterns as oauth
from accounts.pages.urls import urlpatterns as people
from compute.api.uploads import receive_image
from compute.api.urls import urlpatterns as compute
from compute.pages.urls import urlpatterns as machines
from config.api.urls import about, documents, unknown
from config.monitoring.urls import urlpatterns as monitoring
from config.reference.urls import urlpatterns as reference
from managed.api.urls import urlpatterns as managed
from managed.pages.urls import urlpatterns as managed_pages
from regions.api.urls import urlpatterns as regions
from tags.api.urls import urlpatterns as tags
from tags.pages.urls import urlpatterns as tag_pages

api = [*compute, *accounts, *managed, *regions, *tags, *unknown]

urlpatterns = [
    path("v4", about),
    path("v4beta", about),
    path("v4/", include((api, "v4"))),
    path("v4beta/", include((api, "v4"), "v4beta")),
    *documents,
    *monitoring,
    *reference,
    path("uploads/images/<str:signed>", receive_image, name="image-upload"),
    *people,
    *machines,
    *tag_pages,
    *managed_pages,
    *oauth,
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    # Staff sign in on the same page as all users, with the same limits and the same second factor. They also change
    # passwords on the same page, which asks for the old one and forgets trusted browsers.
    path("admin/password_change/", RedirectView.as_view(pattern_name="change-password")),
    path("admin/login/", RedirectView.as_view(pattern_name="login", query_string=True)),
    path("admin/", admin.site.urls),
]

handler400 = "config.web.error_pages.bad_request"
handler403 = "config.web.error_pages.permission_denied"
handler404 = "config.web.error_pages.not_found"
handler500 = "config.web.error_pages.server_error"
