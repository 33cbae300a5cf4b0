"""Tags on entities."""

import threading

import pytest
from django.db import connection, transaction

from accounts.actors import Actor
from config.errors import Denied
from tags.models import Tag, Tagging
from tags.services import check_labels, check_may_tag, set_tags, untag
from tests.factories import AccountFactory

RACERS = 6
ROUNDS = 6


def on(entity_id: int) -> set[str]:
    return set(
        Tagging.objects.filter(entity_type="compute", entity_id=entity_id).values_list("tag__label", flat=True)
    )


def test_labels_are_three_to_fifty_characters_long():
    assert not list(check_labels(["abc", "x" * 50, "ünï"]))
    reasons = dict(check_labels(["ab", "fine", "x" * 51, ""]))
    assert reasons == dict.fromkeys((0, 2, 3), "Length must be 3-50 characters")


def test_tags_are_for_unrestricted_users():
    check_may_tag(Actor(account_id=1))
    with pytest.raises(Denied):
        check_may_tag(Actor(account_id=1, restricted=True))


@pytest.mark.django_db
class TestSettingTags:
    def test_brings_new_ones_into_being_and_uses_those_there_are(self, account):
        assert set_tags(account.pk, "compute", 1, ["web", "blue"]) == ["web", "blue"]
        assert set_tags(account.pk, "compute", 2, ["web"]) == ["web"]
        assert Tag.objects.filter(account=account).count() == 2
        assert (on(1), on(2)) == ({"web", "blue"}, {"web"})

    def test_keeps_the_order_and_counts_a_repeated_one_once(self, account):
        assert set_tags(account.pk, "compute", 1, ["zulu", "alfa", "zulu"]) == ["zulu", "alfa"]

    def test_creates_new_tags_in_a_fixed_order(self, account):
        """The order prevents deadlocks of concurrent transactions. The race below shows them only sometimes."""
        set_tags(account.pk, "compute", 1, ["mike", "zulu", "alfa"])
        assert list(Tag.objects.order_by("pk").values_list("label", flat=True)) == ["alfa", "mike", "zulu"]

    def test_compares_labels_exactly(self, account):
        set_tags(account.pk, "compute", 1, ["web", "Web", "web "])
        assert on(1) == {"web", "Web", "web "}

    def test_replaces_the_tags_of_an_object_and_keeps_the_rows(self, account):
        set_tags(account.pk, "compute", 1, ["web", "blue"])
        set_tags(account.pk, "compute", 1, ["blue", "new"])
        assert on(1) == {"blue", "new"}
        assert Tag.objects.filter(account=account, label="web").exists()

    def test_an_empty_list_takes_all_off(self, account):
        set_tags(account.pk, "compute", 1, ["web"])
        assert set_tags(account.pk, "compute", 1, []) == []
        assert on(1) == set()

    def test_leaves_other_kinds_of_the_same_id_alone(self, account):
        set_tags(account.pk, "domain", 1, ["web"])
        set_tags(account.pk, "compute", 1, ["blue"])
        untag("compute", 1)
        assert list(Tagging.objects.values_list("entity_type", "tag__label")) == [("domain", "web")]

    def test_accounts_have_tags_of_their_own(self, account):
        other = AccountFactory()
        set_tags(account.pk, "compute", 1, ["web"])
        set_tags(other.pk, "compute", 2, ["web"])
        assert Tag.objects.filter(label="web").count() == 2

    def test_takes_a_fixed_number_of_queries(self, account, django_assert_num_queries):
        for count in (1, 40):
            for queries in (7, 3):  # the second time they exist, and no quota is checked
                with django_assert_num_queries(queries):
                    set_tags(account.pk, "compute", count, [f"tag{n}" for n in range(count)])


@pytest.mark.django_db(transaction=True)
def test_racing_transactions_that_make_the_same_tags_all_succeed(account):
    """Half of the transactions write the tags in reverse order, which could cause a deadlock."""
    gate = threading.Barrier(RACERS)
    failures: list[Exception] = []

    def racer(number: int) -> None:
        try:
            for turn in range(ROUNDS):
                labels = [f"turn{turn}-{n:02d}" for n in range(40)]
                gate.wait()
                with transaction.atomic():
                    set_tags(account.pk, "compute", number, labels[::-1] if number % 2 else labels)
        except Exception as failure:  # noqa: BLE001 - shown by the test
            failures.append(failure)
            gate.abort()
        finally:
            connection.close()

    threads = [threading.Thread(target=racer, args=(number,)) for number in range(RACERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert Tag.objects.count() == ROUNDS * 40
    assert Tagging.objects.count() == RACERS * 40
