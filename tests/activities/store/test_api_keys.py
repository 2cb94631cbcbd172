"""Keys and limits on both databases."""

import pytest

from activities.store.api_keys import ApiKeyStore, Limits, StoredKey
from activities.store.database import Database
from activities.store.errors import Collision
from activities.store.records import Scope


def key(number: int, organization: str = "acme", **changes: int) -> StoredKey:
    return StoredKey(
        id=f"key_{number}",
        prefix=f"cmi_dev_{number:08x}",
        secret_sha256="0" * 64,
        name="ci",
        scope=Scope(organization, "ren", "support"),
        scopes=("memories:read", "stats:read"),
        created_ms=number,
        **changes,
    )


def test_a_key_is_found_as_it_was_added(database: Database) -> None:
    keys = ApiKeyStore(database)
    keys.add(key(1, expires_ms=5))
    assert keys.find("cmi_dev_00000001") == (key(1, expires_ms=5), Limits())
    assert keys.find("cmi_dev_00000002") is None


def test_two_keys_never_share_a_prefix(database: Database) -> None:
    keys = ApiKeyStore(database)
    keys.add(key(1))
    with pytest.raises(Collision):
        keys.add(key(1))


def test_keys_are_listed_by_organisation_the_newest_first(database: Database) -> None:
    keys = ApiKeyStore(database)
    for number in (1, 3, 2):
        keys.add(key(number))
    keys.add(key(4, "other"))
    assert [each.id for each in keys.of_organization("acme")] == ["key_3", "key_2", "key_1"]


def test_a_key_is_closed_once_and_only_by_its_organisation(database: Database) -> None:
    keys = ApiKeyStore(database)
    keys.add(key(1))
    assert keys.revoke("key_1", "other", 10) is None
    assert keys.revoke("key_2", None, 10) is None
    assert keys.revoke("key_1", "acme", 10) == 10
    assert keys.revoke("key_1", None, 20) == 10
    found = keys.find(key(1).prefix)
    assert found is not None
    assert found[0].status(0) == "revoked"


def test_a_key_expires_at_its_moment() -> None:
    assert [key(1, expires_ms=5).status(now) for now in (4, 5)] == ["active", "expired"]


def test_the_last_use_is_kept(database: Database) -> None:
    keys = ApiKeyStore(database)
    keys.add(key(1))
    keys.note_use("key_1", 77)
    assert keys.of_organization("acme")[0].last_used_ms == 77


def test_limits_come_with_the_key_of_their_organisation(database: Database) -> None:
    keys = ApiKeyStore(database)
    keys.add(key(1))
    for limits in (Limits(500, 3, 9), Limits(None, 4), Limits()):
        keys.set_limits("acme", limits)
        found = keys.find(key(1).prefix)
        assert found is not None
        assert found[1] == keys.limits("acme") == limits
    assert keys.limits("other") == Limits()
