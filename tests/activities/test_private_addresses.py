"""Nothing private is connected to, whatever name or notation leads there."""

import asyncio
import socket
from typing import Any

import httpcore
import pytest

from activities.private_addresses import AddressRefused, PublicNetwork, is_public, public_addresses
from tests.activities.recording import RecordingServer


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
)
def test_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "127.8.8.8",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
        ),
        *("192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.0.8", "168.63.129.16"),
        *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "2001:db8::1"),
        *(
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::",
        ),
        *("64:ff9b:1::1", "100::1", "2001::1", "4000::1"),
    ],
)
def test_address_that_is_not_everybodys_is_private(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "0x7f.1", "2130706433", "0", "169.254.169.254"])
async def test_host_is_refused_in_every_notation(host: str) -> None:
    with pytest.raises((AddressRefused, httpcore.ConnectError)):
        await public_addresses(host, 80)


async def test_private_server_gets_no_connection() -> None:
    async with RecordingServer() as server:
        with pytest.raises(AddressRefused, match="allow_private_addresses=True"):
            await PublicNetwork().connect_tcp("127.0.0.1", server.port, 5)
        assert server.connections == 0
    with pytest.raises(AddressRefused):
        await PublicNetwork().connect_unix_socket("/var/run/docker.sock")


class Resolver:
    """Answers of the DNS, one after the other, in place of those of the machine."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def getaddrinfo(self, host: str, port: int, **_: Any) -> list[Any]:
        self.asked += 1
        found = self.answers.pop(0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]


class Connections(httpcore.AsyncNetworkBackend):
    """Remembers where it was asked to connect to."""

    def __init__(self, *dead: str) -> None:
        self.dead = dead
        self.tried: list[str] = []

    async def connect_tcp(self, host: str, *_: Any, **__: Any) -> Any:
        self.tried.append(host)
        if host in self.dead:
            raise httpcore.ConnectError("refused")
        return object()


async def test_checked_address_is_the_one_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    resolver, connections = Resolver(["93.184.216.34"], ["127.0.0.1"]), Connections()
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolver.getaddrinfo)
    network = PublicNetwork(connections)
    await network.connect_tcp("rebinding.example", 80, 5)
    assert (connections.tried, resolver.asked) == (["93.184.216.34"], 1)
    with pytest.raises(AddressRefused, match=r"rebinding\.example"):
        await network.connect_tcp("rebinding.example", 80, 5)
    assert connections.tried == ["93.184.216.34"]


async def test_one_private_address_among_public_ones_refuses_all(monkeypatch: pytest.MonkeyPatch) -> None:
    connections = Connections()
    resolver = Resolver(["93.184.216.34", "10.0.0.1"])
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolver.getaddrinfo)
    with pytest.raises(AddressRefused):
        await PublicNetwork(connections).connect_tcp("half.example", 80)
    assert connections.tried == []


async def test_next_address_is_tried_when_one_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    connections = Connections("1.1.1.1")
    resolver = Resolver(["1.1.1.1", "1.0.0.1"], ["1.1.1.1"])
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolver.getaddrinfo)
    await PublicNetwork(connections).connect_tcp("two.example", 80, 5)
    assert connections.tried == ["1.1.1.1", "1.0.0.1"]
    with pytest.raises(httpcore.ConnectError):
        await PublicNetwork(connections).connect_tcp("one.example", 80, 5)


async def test_resolver_that_does_not_answer_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: Any, **__: Any) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", never)
    with pytest.raises(httpcore.ConnectTimeout):
        await PublicNetwork().connect_tcp("slow.example", 80, 0.05)
