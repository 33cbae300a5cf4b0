"""The paths of the pages."""

from django.urls import include, path

from compute.pages import consoles, home, instance_create, instance_list, instances, power, search, selections

urlpatterns = [
    path("home", home.HomeView.as_view(), name="home"),
    path("home/state", home.HomeStateView.as_view(), name="home-state"),
    path("home/search", search.SearchView.as_view(), name="search"),
    path("home/instances/new", instance_create.InstanceCreateView.as_view(), name="instance-new"),
    path("home/instances/new/choice", instance_create.InstanceChoiceView.as_view(), name="instance-new-choice"),
    path("home/instances/new/strength", instance_create.PasswordStrengthView.as_view(), name="password-strength"),
    path("home/instances", instance_list.InstancesView.as_view(), name="instances"),
    path("home/instances/states", instance_list.StatesView.as_view(), name="instances-states"),
    path("home/instances/selected", selections.SelectedView.as_view(), name="instances-selected"),
    path("home/instances/tag", selections.TagSelectedView.as_view(), name="instances-tag"),
    path("home/instances/delete", selections.DeleteSelectedView.as_view(), name="instances-delete"),
    path("home/instances/<int:pk>", instances.InstanceView.as_view(), name="instance"),
    path("home/instances/<int:pk>/state", instances.InstanceStateView.as_view(), name="instance-state"),
    path("home/instances/<int:pk>/boot", power.BootView.as_view(), name="instance-boot"),
    path("home/instances/<int:pk>/reboot", power.RebootView.as_view(), name="instance-reboot"),
    path("home/instances/<int:pk>/shutdown", power.ShutdownView.as_view(), name="instance-shutdown"),
    path("home/instances/<int:pk>/console", consoles.ConsoleView.as_view(), name="console"),
    path("home/instances/<int:pk>/", include("compute.pages.part_urls")),
    # below the admin's path, which staff reach with a second factor alone
    path("admin/compute/instance/<int:pk>/console/", consoles.StaffConsoleView.as_view(), name="staff-console"),
]
