"""The paths of the pages."""

from django.urls import include, path

from compute.pages import (
    activity,
    clones,
    consoles,
    graphs,
    home,
    instance_create,
    instance_list,
    instances,
    moves,
    power,
    rebuild,
    rescue,
    resize,
    root_passwords,
    search,
    selections,
    settings,
)

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
    path("home/instances/<int:pk>/graphs", graphs.GraphsView.as_view(), name="instance-graphs"),
    path("home/instances/<int:pk>/activity", activity.ActivityView.as_view(), name="instance-activity"),
    path("home/instances/<int:pk>/events", activity.EventsView.as_view(), name="instance-events"),
    path("home/instances/<int:pk>/state", instances.InstanceStateView.as_view(), name="instance-state"),
    path("home/instances/<int:pk>/boot", power.BootView.as_view(), name="instance-boot"),
    path("home/instances/<int:pk>/reboot", power.RebootView.as_view(), name="instance-reboot"),
    path("home/instances/<int:pk>/shutdown", power.ShutdownView.as_view(), name="instance-shutdown"),
    path("home/instances/<int:pk>/boot/profile", power.BootProfileView.as_view(), name="instance-boot-profile"),
    path(
        "home/instances/<int:pk>/reboot/profile", power.RebootProfileView.as_view(), name="instance-reboot-profile"
    ),
    path("home/instances/<int:pk>/settings", settings.SettingsView.as_view(), name="instance-settings"),
    path(
        "home/instances/<int:pk>/settings/alerts",
        settings.SettingsView.as_view(form="alerts"),
        name="instance-alerts",
    ),
    path(
        "home/instances/<int:pk>/settings/watchdog",
        settings.SettingsView.as_view(form="watchdog"),
        name="instance-watchdog",
    ),
    path("home/instances/<int:pk>/delete", settings.DeleteView.as_view(), name="instance-delete"),
    path("home/instances/<int:pk>/password", root_passwords.PasswordView.as_view(), name="instance-password"),
    path(
        "home/instances/<int:pk>/password/shown",
        root_passwords.ShownPasswordView.as_view(),
        name="instance-password-shown",
    ),
    path("home/instances/<int:pk>/resize", resize.ResizeView.as_view(), name="instance-resize"),
    path("home/instances/<int:pk>/upgrade", resize.UpgradeView.as_view(), name="instance-upgrade"),
    path("home/instances/<int:pk>/rebuild", rebuild.RebuildView.as_view(), name="instance-rebuild"),
    path("home/instances/<int:pk>/rescue", rescue.RescueView.as_view(), name="instance-rescue"),
    path("home/instances/<int:pk>/clone", clones.CloneView.as_view(), name="instance-clone"),
    path("home/instances/<int:pk>/migrate", moves.MigrateView.as_view(), name="instance-migrate"),
    path("home/instances/<int:pk>/console", consoles.ConsoleView.as_view(), name="console"),
    path("home/instances/<int:pk>/", include("compute.pages.part_urls")),
    # below the admin's path, which staff reach with a second factor alone
    path("admin/compute/instance/<int:pk>/console/", consoles.StaffConsoleView.as_view(), name="staff-console"),
]
