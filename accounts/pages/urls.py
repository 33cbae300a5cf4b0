"""The paths of the pages."""

from django.urls import path
from django.views.generic import RedirectView

from accounts.pages import external, home, login, passwords

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="home")),  # who types the host's name alone looks for a page
    path("login", login.LoginView.as_view(), name="login"),
    path("login/code", login.CodeView.as_view(), name="login-code"),
    path("login/external", external.StartView.as_view(), name="external"),
    path("login/external/callback", external.CallbackView.as_view(), name="external-callback"),
    path("logout", login.LogoutView.as_view(), name="logout"),
    path("signed-out", login.SignedOutView.as_view(), name="signed-out"),
    path("password/forgotten", passwords.ForgottenView.as_view(), name="forgotten"),
    path("password/<uidb64>/<token>", passwords.SetPasswordView.as_view(), name="set-password"),
    path("home", home.HomeView.as_view(), name="home"),
    path("home/external", external.TieView.as_view(), name="external-tie"),
    path("home/external/password", external.PasswordInsteadView.as_view(), name="external-untie"),
    path("home/<str:kind>/<int:pk>/revoke", home.RevokeView.as_view(), name="revoke"),
]
