"""The paths of the OAuth server's endpoints."""

from django.urls import path

from accounts.oauth import views

urlpatterns = [
    path("oauth/authorize", views.AuthorizeView.as_view(), name="oauth-authorize"),
    path("oauth/token", views.TokenView.as_view(), name="oauth-token"),
    path("oauth/introspect", views.IntrospectView.as_view(), name="oauth-introspect"),
    path("oauth/revoke", views.RevokeView.as_view(), name="oauth-revoke"),
]
