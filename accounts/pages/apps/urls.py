"""The paths of the pages of apps."""

from django.urls import path

from accounts.pages.apps import apps

urlpatterns = [
    path("home/apps", apps.AppsView.as_view(), name="apps"),
    path("home/apps/new", apps.NewAppView.as_view(), name="app-new"),
    path("home/apps/<int:app_id>", apps.AppView.as_view(), name="app"),
    path("home/apps/<int:app_id>/edit", apps.EditAppView.as_view(), name="app-edit"),
    path("home/apps/<int:app_id>/secret", apps.ResetSecretView.as_view(), name="app-secret"),
    path("home/apps/<int:app_id>/picture", apps.PictureView.as_view(), name="app-picture"),
    path("home/apps/<int:app_id>/delete", apps.DeleteAppView.as_view(), name="app-delete"),
]
