"""The paths of addresses, below ``/home/addresses``."""

from django.urls import path

from compute.pages.networking.account_addresses import addresses, lists, ranges

urlpatterns = [
    path("", lists.AddressesView.as_view(), name="addresses"),
    path("/new", addresses.NewAddressView.as_view(), name="address-new"),
    path("/<address:address>/rdns", addresses.AccountReverseNameView.as_view(), name="address-rdns"),
    path("/<address:address>/move", addresses.AccountMoveView.as_view(), name="address-move"),
    path("/<address:address>/delete", addresses.AccountDeleteView.as_view(), name="address-delete"),
    path("/ranges", lists.RangesView.as_view(), name="ranges"),
    path("/ranges/new", ranges.NewRangeView.as_view(), name="range-new"),
    path("/ranges/<int:pk>/move", ranges.MoveRangeView.as_view(), name="range-move"),
    path("/ranges/<int:pk>/delete", ranges.AccountDeleteRangeView.as_view(), name="range-delete"),
]
