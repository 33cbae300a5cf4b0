"""The paths of the pages of load balancers, below ``/home/load-balancers``."""

from django.urls import include, path

from compute.pages.nodebalancers import balancer_list, balancers, configs, create, graphs, nodes, rebuild

OF_CONFIG = [
    path("edit", configs.EditConfigView.as_view(), name="load-balancer-config-edit"),
    path("rebuild", rebuild.RebuildConfigView.as_view(), name="load-balancer-config-rebuild"),
    path("delete", configs.DeleteConfigView.as_view(), name="load-balancer-config-delete"),
    path("nodes/new", nodes.NewNodeView.as_view(), name="load-balancer-node-new"),
    path("nodes/<int:node>/edit", nodes.EditNodeView.as_view(), name="load-balancer-node-edit"),
    path("nodes/<int:node>/delete", nodes.DeleteNodeView.as_view(), name="load-balancer-node-delete"),
]
urlpatterns = [
    path("", balancer_list.BalancersView.as_view(), name="load-balancers"),
    path("/new", create.NewBalancerView.as_view(), name="load-balancer-new"),
    path("/<int:pk>", balancers.BalancerView.as_view(), name="load-balancer"),
    path("/<int:pk>/graphs", graphs.GraphsView.as_view(), name="load-balancer-graphs"),
    path("/<int:pk>/settings", balancers.SettingsView.as_view(), name="load-balancer-settings"),
    path("/<int:pk>/delete", balancers.DeleteView.as_view(), name="load-balancer-delete"),
    path("/<int:pk>/configs/new", configs.NewConfigView.as_view(), name="load-balancer-config-new"),
    path("/<int:pk>/configs/<int:balancer_config>/", include(OF_CONFIG)),
]
