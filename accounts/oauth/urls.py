"""Signing in and out, and the endpoints of the OAuth server that are served."""

from django.urls import path

from accounts.oauth import views

urlpatterns = [
    path("login", views.LoginView.as_view(), name="login"),
    path("logout", views.LogoutView.as_view(), name="logout"),
    path("password/<uidb64>/<token>", views.SetPasswordView.as_view(), name="set-password"),
    path("oauth/authorize", views.AuthorizeView.as_view(), name="oauth-authorize"),
    path("oauth/token", views.TokenView.as_view(), name="oauth-token"),
    path("oauth/revoke", views.RevokeView.as_view(), name="oauth-revoke"),
]
