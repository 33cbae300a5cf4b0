"""The paths of the pages."""

from django.urls import path
from django.views.generic import RedirectView

from accounts.pages import (
    confirm,
    external,
    login,
    passwords,
    phone_number,
    profile,
    profile_edit,
    reference,
    rename,
    second_factor,
    security_keys,
    security_questions,
    ssh_keys,
    token_links,
    tokens,
)

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="home")),  # for people who type only the host's name
    path("login", login.LoginView.as_view(), name="login"),
    path("login/code", login.CodeView.as_view(), name="login-code"),
    path("login/external", external.StartView.as_view(), name="external"),
    path("login/external/callback", external.CallbackView.as_view(), name="external-callback"),
    path("logout", login.LogoutView.as_view(), name="logout"),
    path("signed-out", login.SignedOutView.as_view(), name="signed-out"),
    path("password/forgotten", passwords.ForgottenView.as_view(), name="forgotten"),
    path("password/<uidb64>/<token>", passwords.SetPasswordView.as_view(), name="set-password"),
    path("token/<slug:key>", token_links.TokenLinkView.as_view(), name="token-link"),
    path("home/profile", profile.ProfileView.as_view(), name="profile"),
    path("home/profile/edit", profile_edit.EditProfileView.as_view(), name="edit-profile"),
    path("home/confirm", confirm.ConfirmView.as_view(), name="confirm"),
    path("home/tokens/new", tokens.NewTokenView.as_view(), name="new-token"),
    path("home/ssh-keys/new", ssh_keys.NewSSHKeyView.as_view(), name="new-ssh-key"),
    path("home/tokens/<int:pk>/rename", rename.RenameTokenView.as_view(), name="rename-token"),
    path("home/ssh-keys/<int:pk>/rename", rename.RenameSSHKeyView.as_view(), name="rename-ssh-key"),
    path("home/phone-number", phone_number.PhoneNumberView.as_view(), name="phone-number"),
    path("home/phone-number/verify", phone_number.VerifyPhoneNumberView.as_view(), name="verify-phone-number"),
    path("home/phone-number/remove", phone_number.RemovePhoneNumberView.as_view(), name="remove-phone-number"),
    path("home/password", passwords.ChangePasswordView.as_view(), name="change-password"),
    path("home/second-factor", second_factor.SecondFactorView.as_view(), name="second-factor"),
    path("home/second-factor/begin", second_factor.BeginView.as_view(), name="second-factor-begin"),
    path("home/second-factor/off", second_factor.OffView.as_view(), name="second-factor-off"),
    path("home/security-questions", security_questions.SecurityQuestionsView.as_view(), name="security-questions"),
    path("home/security-keys/new", security_keys.NewSecurityKeyView.as_view(), name="new-security-key"),
    path("home/external", external.TieView.as_view(), name="external-tie"),
    path("home/external/password", external.PasswordInsteadView.as_view(), name="external-untie"),
    path("docs/token", reference.TokenView.as_view(), name="docs-token"),
    path("home/<str:kind>/<int:pk>/revoke", profile.RevokeView.as_view(), name="revoke"),
]
