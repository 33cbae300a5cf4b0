"""The provider's URLs: its protocol under /o/, and a sign-in page."""

from django.contrib.auth.views import LoginView
from django.urls import include, path

urlpatterns = [
    path("login", LoginView.as_view(template_name="login.html"), name="login"),
    path("o/", include("oauth2_provider.urls")),
]
