"""The paths of firewalls, below ``/home/firewalls``."""

from django.urls import path

from compute.pages.networking.firewalls import devices, firewall, firewall_list, new_firewall, rules

urlpatterns = [
    path("", firewall_list.FirewallsView.as_view(), name="firewalls"),
    path("/new", new_firewall.NewFirewallView.as_view(), name="firewall-new"),
    path("/<int:pk>", firewall.FirewallView.as_view(), name="firewall"),
    path("/<int:pk>/inbound", rules.RulesView.as_view(direction="inbound"), name="firewall-inbound"),
    path("/<int:pk>/outbound", rules.RulesView.as_view(direction="outbound"), name="firewall-outbound"),
    path("/<int:pk>/devices/add", devices.AddDeviceView.as_view(), name="firewall-device-add"),
    path(
        "/<int:pk>/devices/<int:device>/remove", devices.RemoveDeviceView.as_view(), name="firewall-device-remove"
    ),
    path("/<int:pk>/edit", firewall.SettingsView.as_view(), name="firewall-edit"),
    path("/<int:pk>/enable", firewall.EnableView.as_view(), name="firewall-enable"),
    path("/<int:pk>/disable", firewall.DisableView.as_view(), name="firewall-disable"),
    path("/<int:pk>/delete", firewall.DeleteView.as_view(), name="firewall-delete"),
]
