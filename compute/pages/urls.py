"""The paths of the pages."""

from django.urls import path
from django.views.generic import RedirectView

from compute.pages import consoles, home, instance_list, instances, power, search, selections

urlpatterns = [
    path("home", home.HomeView.as_view(), name="home"),
    path("home/state", home.HomeStateView.as_view(), name="home-state"),
    path("home/search", search.SearchView.as_view(), name="search"),
    path("home/instances", instance_list.InstancesView.as_view(), name="instances"),
    path("home/instances/states", instance_list.StatesView.as_view(), name="instances-states"),
    path("home/instances/selected", selections.SelectedView.as_view(), name="instances-selected"),
    path("home/instances/tag", selections.TagSelectedView.as_view(), name="instances-tag"),
    path("home/instances/delete", selections.DeleteSelectedView.as_view(), name="instances-delete"),
    # the API reference says how to create one, until there is a page
    path("home/instances/new", RedirectView.as_view(pattern_name="docs"), name="instance-new"),
    path("home/instances/<int:pk>", instances.InstanceView.as_view(), name="instance"),
    path("home/instances/<int:pk>/state", instances.InstanceStateView.as_view(), name="instance-state"),
    path("home/instances/<int:pk>/boot", power.BootView.as_view(), name="instance-boot"),
    path("home/instances/<int:pk>/reboot", power.RebootView.as_view(), name="instance-reboot"),
    path("home/instances/<int:pk>/shutdown", power.ShutdownView.as_view(), name="instance-shutdown"),
    path("home/instances/<int:pk>/console", consoles.ConsoleView.as_view(), name="console"),
    # below the admin's path, which staff reach with a second factor alone
    path("admin/compute/instance/<int:pk>/console/", consoles.StaffConsoleView.as_view(), name="staff-console"),
]
