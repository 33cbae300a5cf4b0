"""The paths of the pages of users."""

from django.urls import path

from accounts.pages.users import grants, lists, users

urlpatterns = [
    path("home/users", lists.UsersView.as_view(), name="users"),
    path("home/users/new", users.InviteUserView.as_view(), name="user-new"),
    path("home/users/logins", lists.LoginsView.as_view(), name="logins"),
    path("home/users/<int:user_id>", users.UserView.as_view(), name="user"),
    path("home/users/<int:user_id>/edit", users.EditUserView.as_view(), name="user-edit"),
    path("home/users/<int:user_id>/access", users.AccessView.as_view(), name="user-access"),
    path("home/users/<int:user_id>/remove", users.RemoveUserView.as_view(), name="user-remove"),
    path("home/users/<int:user_id>/grants", grants.AccountGrantsView.as_view(), name="user-grants"),
    path("home/users/<int:user_id>/grants/<slug:nouns>", grants.ObjectGrantsView.as_view(), name="user-grants-on"),
]
