"""Addresses as people write them."""

import pytest

from activities.store.urls import driver_url


@pytest.mark.parametrize(
    ("address", "driver", "database"),
    [
        ("sqlite:///store.db", "sqlite+pysqlite", "store.db"),
        ("sqlite:////var/lib/store.db", "sqlite+pysqlite", "/var/lib/store.db"),
        ("sqlite:///file:store.db?mode=ro&uri=true", "sqlite+pysqlite", "file:store.db"),
        ("postgresql://ada:pw@host:5433/name", "postgresql+psycopg", "name"),
        ("postgres://host/name", "postgresql+psycopg", "name"),
        ("postgresql+psycopg://host/name", "postgresql+psycopg", "name"),
    ],
)
def test_plain_address_gets_our_driver(address: str, driver: str, database: str) -> None:
    url = driver_url(address)

    assert (url.drivername, url.database) == (driver, database)


def test_settings_of_the_address_win_over_ours() -> None:
    url = driver_url("postgresql://ada:p%40w@host/name?connect_timeout=60&options=-csearch_path%3Dturns")

    assert url.query["connect_timeout"] == "60"
    assert url.query["options"] == "-csearch_path=turns"
    assert "tcp_user_timeout" in url.query
    assert url.password == "p@w"


@pytest.mark.parametrize(
    "address",
    [
        "",
        "store.db",
        "mysql://ada:hunter2@host/name",
        "sqlite://",
        "sqlite:///:memory:",
        "postgresql://a:hunter2@h:x/n",
    ],
)
def test_other_address_is_refused_without_its_password(address: str) -> None:
    with pytest.raises(ValueError, match="database") as refused:
        driver_url(address)

    assert "hunter2" not in str(refused.value)
