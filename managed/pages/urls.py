"""The paths of the pages of managed monitoring, below ``/home/monitoring``."""

from django.urls import include, path

from managed.pages import contacts, credentials, issues, service_forms, services, ssh_access, usage

below = [
    path("", services.ServicesView.as_view(), name="monitoring"),
    path("/new", service_forms.NewServiceView.as_view(), name="monitoring-service-new"),
    path("/<int:pk>", services.ServiceView.as_view(), name="monitoring-service"),
    path("/<int:pk>/edit", service_forms.EditServiceView.as_view(), name="monitoring-service-edit"),
    path("/<int:pk>/enable", services.EnableView.as_view(), name="monitoring-service-enable"),
    path("/<int:pk>/disable", services.DisableView.as_view(), name="monitoring-service-disable"),
    path("/<int:pk>/delete", services.DeleteView.as_view(), name="monitoring-service-delete"),
    path("/issues", issues.IssuesView.as_view(), name="monitoring-issues"),
    path("/contacts", contacts.ContactsView.as_view(), name="monitoring-contacts"),
    path("/contacts/new", contacts.NewContactView.as_view(), name="monitoring-contact-new"),
    path("/contacts/<int:pk>/edit", contacts.EditContactView.as_view(), name="monitoring-contact-edit"),
    path("/contacts/<int:pk>/delete", contacts.DeleteContactView.as_view(), name="monitoring-contact-delete"),
    path("/credentials", credentials.CredentialsView.as_view(), name="monitoring-credentials"),
    path("/credentials/new", credentials.NewCredentialView.as_view(), name="monitoring-credential-new"),
    path("/credentials/ssh-key", credentials.CreateKeyView.as_view(), name="monitoring-key-create"),
    path(
        "/credentials/<int:pk>/edit",
        credentials.RenameCredentialView.as_view(),
        name="monitoring-credential-edit",
    ),
    path(
        "/credentials/<int:pk>/password",
        credentials.ReplaceCredentialView.as_view(),
        name="monitoring-credential-password",
    ),
    path(
        "/credentials/<int:pk>/delete",
        credentials.DeleteCredentialView.as_view(),
        name="monitoring-credential-delete",
    ),
    path("/ssh", ssh_access.SSHAccessView.as_view(), name="monitoring-ssh"),
    path("/ssh/<int:pk>", ssh_access.EditSSHAccessView.as_view(), name="monitoring-ssh-edit"),
    path("/usage", usage.UsageView.as_view(), name="monitoring-usage"),
]

urlpatterns = [path("home/monitoring", include(below))]
