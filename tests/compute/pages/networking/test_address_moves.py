"""The pages that move, swap and share addresses."""

import pytest
from django.db import transaction

from compute.models import Address, AddressShare, Instance, RangeShare
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import address_of, events, instance_with_parts, send, text
from tests.factories import AddressPoolFactory, GlobalGrantsFactory, GrantFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(account) -> Instance:
    return instance_with_parts(account, label="web-1")


@pytest.fixture
def other(account) -> Instance:
    return instance_with_parts(account, label="web-2")


@pytest.fixture
def browser(owner):
    return signed_in(owner)


def addresses_of(instance: Instance) -> set[str]:
    return {row.address for row in instance.addresses.all()}


class TestMoving:
    def test_an_address_is_moved(self, browser, instance, other):
        moved, kept = instance.ipv4
        send(browser, "instance-address-move", instance, moved, target=f"to:{other.pk}")
        assert addresses_of(instance) == {kept}
        assert addresses_of(other) == {*other.ipv4, moved}
        assert events(instance) == ["compute_deleteip", "compute_addip"]

    def test_the_last_address_is_swapped(self, browser, instance, other):
        first, last = instance.ipv4
        send(browser, "instance-address-delete", instance, first)
        answer = send(browser, "instance-address-move", instance, last, target=f"to:{other.pk}")
        assert problems(answer, "target") == (
            f"Instance {instance.pk} would be left without a public IPv4 address."
        )
        send(browser, "instance-address-move", instance, last, target=f"for:{other.ipv4[0]}")
        assert addresses_of(instance) == {other.ipv4[0]}
        assert addresses_of(other) == {last, other.ipv4[1]}

    def test_only_accepted_moves_are_offered(self, browser, account, instance, other):
        def offered(address: str) -> list[str]:
            page = browser.get(address_of("instance-address-move", instance, address))
            groups = page.context["form"].fields["target"].choices[1:]
            return [value for _, group in groups for value, _ in group]

        def accepted(address: str, target: str) -> bool:
            with transaction.atomic():
                answer = send(browser, "instance-address-move", instance, address, target=target)
                transaction.set_rollback(True)
            return not problems(answer, "target")

        third = instance_with_parts(account, label="web-3")
        pool = AddressPoolFactory(region=instance.region, kind="private", addresses=2)
        private = list(pool.addresses.values_list("address", flat=True))
        for text_of, holder in zip(private, (instance, third), strict=True):
            Address.objects.filter(address=text_of).update(instance=holder)
        for each in (other, third):
            each.addresses.filter(address=each.ipv4[1]).delete()
        rows = Address.objects.filter(instance__in=(other, third)).values_list("address", flat=True)
        every = {f"to:{other.pk}", f"to:{third.pk}", *(f"for:{address}" for address in rows)}
        for address in (instance.ipv4[0], private[0]):
            assert set(offered(address)) == {target for target in every if accepted(address, target)}
        instance.addresses.filter(address=instance.ipv4[1]).delete()
        assert set(offered(instance.ipv4[0])) == {f"for:{each.ipv4[0]}" for each in (other, third)}
        Instance.objects.filter(pk=third.pk).update(status="migrating")
        assert offered(instance.ipv4[0]) == [f"for:{other.ipv4[0]}"]

    def test_without_any_choice_the_page_says_why(self, browser, instance, other):
        for name, given in (("instance-address-move", (instance.ipv4[0],)), ("instance-addresses-share", ())):
            where = address_of(name, instance, *given)
            Instance.objects.filter(pk=other.pk).update(status="migrating")
            page = text(browser.get(where))
            if name == "instance-address-move":
                assert "Your other instances in the region" in page
                assert '<button class="btn btn-primary" disabled>' in page
            Instance.objects.filter(pk=other.pk).update(status="running")
            assert '<button class="btn btn-primary" disabled>' not in text(browser.get(where))
        other.delete()
        page = text(browser.get(address_of("instance-address-move", instance, instance.ipv4[0])))
        assert "You have no other instance in the region" in page

    @pytest.mark.parametrize(
        "target",
        ["", "to:", "to:77777", "for:198.18.255.255", "for:x", "to:99999999999999999999", f"to:{'9' * 5000}"],
    )
    def test_a_target_has_to_be_chosen(self, browser, instance, other, target):
        answer = send(browser, "instance-address-move", instance, instance.ipv4[0], target=target)
        assert problems(answer, "target")
        assert addresses_of(instance) == set(instance.ipv4)

    def test_only_instances_that_the_user_may_change_are_offered(self, account, instance, other):
        user = GlobalGrantsFactory(user__account=account).user
        GrantFactory(user=user, entity_id=instance.pk, permissions="read_write")
        GrantFactory(user=user, entity_id=other.pk)
        browser = signed_in(user)
        assert "web-2" not in text(browser.get(address_of("instance-address-move", instance, instance.ipv4[0])))
        answer = send(browser, "instance-address-move", instance, instance.ipv4[0], target=f"to:{other.pk}")
        assert problems(answer, "target") == "Unauthorized"


class TestSharing:
    def test_addresses_and_ranges_are_shared_and_no_longer(self, browser, instance, other):
        one, made = other.ipv4[0], other.ipv6_ranges.get()
        other.addresses.filter(address=one).update(rdns="mail.example.com")
        send(browser, "instance-addresses-share", instance, ips=[one, str(made)])
        assert AddressShare.objects.get().instance == RangeShare.objects.get().instance == instance
        shown = text(browser.get(address_of("instance-network", instance)))
        assert "shared: belongs to another instance" in shown
        assert "mail.example.com" in shown
        form = browser.get(address_of("instance-addresses-share", instance)).context["form"]
        assert form["ips"].value() == [one, str(made)]
        send(browser, "instance-addresses-share", instance)
        assert not AddressShare.objects.exists()
        assert not RangeShare.objects.exists()

    def test_labels_of_instances_that_the_user_does_not_see_are_not_shown(self, browser, account, instance, other):
        send(browser, "instance-addresses-share", instance, ips=[other.ipv4[0], str(other.ipv6_ranges.get())])
        user = GlobalGrantsFactory(user__account=account).user
        GrantFactory(user=user, entity_id=instance.pk, permissions="read_write")
        where = address_of("instance-addresses-share", instance)
        page = text(signed_in(user).get(where))
        assert f"{other.ipv4[0]} of another instance" in page
        assert "web-2" not in page
        assert f"{other.ipv4[0]} of web-2" in text(browser.get(where))

    @pytest.mark.parametrize("level", [None, "read_only"])
    def test_a_restricted_user_keeps_the_shares_of_others(self, browser, account, instance, other, level):
        shares = [other.ipv4[0], str(other.ipv6_ranges.get())]
        mine = instance_with_parts(account, label="web-3")
        send(browser, "instance-addresses-share", instance, ips=[*shares, mine.ipv4[0]])
        user = GlobalGrantsFactory(user__account=account).user
        for each in (instance, mine):
            GrantFactory(user=user, entity_id=each.pk, permissions="read_write")
        if level:
            GrantFactory(user=user, entity_id=other.pk, permissions=level)
        restricted = signed_in(user)
        form = restricted.get(address_of("instance-addresses-share", instance)).context["form"]
        offered = [value for value, _ in form.fields["ips"].choices]
        assert mine.ipv4[0] in offered
        assert not set(shares) & set(offered)
        answer = send(restricted, "instance-addresses-share", instance, ips=[mine.ipv4[1]])
        assert "The shared addresses were saved." in text(answer)
        assert {str(each.address) for each in AddressShare.objects.all()} == {shares[0], mine.ipv4[1]}
        assert str(RangeShare.objects.get().range) == shares[1]
        send(browser, "instance-addresses-share", instance)
        assert not AddressShare.objects.exists()

    @pytest.mark.parametrize("status", ["migrating", "deleting"])
    def test_shares_of_instances_that_move_can_stay(self, browser, account, instance, other, status):
        shares, mine = [other.ipv4[0], str(other.ipv6_ranges.get())], instance_with_parts(account, label="web-3")
        send(browser, "instance-addresses-share", instance, ips=shares)
        Instance.objects.filter(pk=other.pk).update(status=status)
        form = browser.get(address_of("instance-addresses-share", instance)).context["form"]
        assert form["ips"].value() == shares
        assert {value for value, _ in form.fields["ips"].choices} >= {*shares, mine.ipv4[0]}
        answer = send(browser, "instance-addresses-share", instance, ips=[*shares, other.ipv4[1]])
        assert "Another job runs on the instance." in text(answer)
        answer = send(browser, "instance-addresses-share", instance, ips=[*shares, mine.ipv4[0]])
        assert "The shared addresses were saved." in text(answer)
        assert {each.address.address for each in AddressShare.objects.all()} == {shares[0], mine.ipv4[0]}
        assert str(RangeShare.objects.get().range) == shares[1]

    def test_addresses_that_cannot_be_shared_are_named(self, browser, instance):
        answer = send(browser, "instance-addresses-share", instance, ips=["203.0.113.9"])
        assert "IP Address not found." in text(answer)
