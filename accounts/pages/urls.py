"""The paths of the pages."""

from django.urls import path

from accounts.pages import home, login, passwords

urlpatterns = [
    path("login", login.LoginView.as_view(), name="login"),
    path("login/code", login.CodeView.as_view(), name="login-code"),
    path("logout", login.LogoutView.as_view(), name="logout"),
    path("signed-out", login.SignedOutView.as_view(), name="signed-out"),
    path("password/forgotten", passwords.ForgottenView.as_view(), name="forgotten"),
    path("password/<uidb64>/<token>", passwords.SetPasswordView.as_view(), name="set-password"),
    path("home", home.HomeView.as_view(), name="home"),
    path("home/<str:kind>/<int:pk>/revoke", home.RevokeView.as_view(), name="revoke"),
]
