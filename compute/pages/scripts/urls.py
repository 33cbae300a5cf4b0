"""The paths of the pages of deployment scripts."""

from django.urls import path

from compute.pages.scripts import revisions, script, script_forms, script_lists

urlpatterns = [
    path("home/scripts", script_lists.OwnScriptsView.as_view(), name="scripts"),
    path("home/scripts/public", script_lists.PublicScriptsView.as_view(), name="scripts-public"),
    path("home/scripts/new", script_forms.NewScriptView.as_view(), name="script-new"),
    path("home/scripts/<int:pk>", script.ScriptView.as_view(), name="script"),
    path("home/scripts/<int:pk>/edit", script_forms.EditScriptView.as_view(), name="script-edit"),
    path("home/scripts/<int:pk>/publish", script.PublishScriptView.as_view(), name="script-publish"),
    path("home/scripts/<int:pk>/delete", script.DeleteScriptView.as_view(), name="script-delete"),
    path("home/scripts/<int:pk>/revisions", revisions.RevisionsView.as_view(), name="script-revisions"),
    path("home/scripts/<int:pk>/revisions/<int:number>", revisions.RevisionView.as_view(), name="script-revision"),
]
