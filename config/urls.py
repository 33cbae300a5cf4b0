"""Every URL of the project. The API answers under /v4 and, unchanged, under /v4beta."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

import config.api.paths  # noqa: F401 - registers the path converters
from accounts.api.urls import urlpatterns as accounts
from accounts.oauth.urls import urlpatterns as oauth
from compute.api.uploads import receive_image
from compute.api.urls import urlpatterns as compute
from config.api.urls import pages, unknown
from regions.api.urls import urlpatterns as regions

api = [*compute, *accounts, *regions, *unknown]

urlpatterns = [
    path("v4/", include(api)),
    path("v4beta/", include(api)),
    *pages,
    path("uploads/images/<str:signed>", receive_image, name="image-upload"),
    *oauth,
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
]

handler404 = "config.api.documents.not_found"
handler500 = "config.api.documents.server_error"
