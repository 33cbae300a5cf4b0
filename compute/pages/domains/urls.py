"""The paths of the pages of domains, below ``/home/domains``."""

from django.urls import path

from compute.pages.domains import domain_list, domains, new_domains, records

urlpatterns = [
    path("", domain_list.DomainsView.as_view(), name="domains"),
    path("/new", new_domains.NewMasterView.as_view(), name="domain-new"),
    path("/new/slave", new_domains.NewSlaveView.as_view(), name="domain-new-slave"),
    path("/import", new_domains.ImportView.as_view(), name="domain-import"),
    path("/<int:pk>", records.RecordsView.as_view(), name="domain"),
    path("/<int:pk>/records/new", records.NewRecordView.as_view(), name="domain-record-new"),
    path("/<int:pk>/records/<int:record>", records.RowView.as_view(), name="domain-record"),
    path("/<int:pk>/records/<int:record>/edit", records.EditRecordView.as_view(), name="domain-record-edit"),
    path("/<int:pk>/records/<int:record>/delete", records.DeleteRecordView.as_view(), name="domain-record-delete"),
    path("/<int:pk>/zone-file", domains.ZoneFileView.as_view(), name="domain-zone-file"),
    path(
        "/<int:pk>/zone-file/download",
        domains.ZoneFileView.as_view(download=True),
        name="domain-zone-file-download",
    ),
    path("/<int:pk>/activity", domains.ActivityView.as_view(), name="domain-activity"),
    path("/<int:pk>/settings", domains.SettingsView.as_view(), name="domain-settings"),
    path("/<int:pk>/clone", domains.CloneView.as_view(), name="domain-clone"),
    path("/<int:pk>/delete", domains.DeleteView.as_view(), name="domain-delete"),
]
