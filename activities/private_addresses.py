"""Connections to public addresses only: the name is resolved, every address is checked, and the checked address is the one
that is connected to, so that a second answer of the DNS cannot be another.

Which addresses are public: https://www.iana.org/assignments/iana-ipv4-special-registry and its IPv6 sister. Addresses that
carry an IPv4 address (mapped, NAT64, 6to4) are as public as that one.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

import httpcore

_GLOBAL_UNICAST = IPv6Network("2000::/3")
# Older versions of `ipaddress` know only an eighth of the first; the second is how Azure's machines reach their host.
_PRIVATE_TOO = (IPv4Network("192.0.0.0/24"), IPv4Network("168.63.129.16/32"))
_NAT64 = IPv6Network("64:ff9b::/96")


class AddressRefused(Exception):
    """The host has an address that is not public; nothing was sent."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"{host} is not a public address, or its name leads to one that is not; a controller with "
            "allow_private_addresses=True may call it"
        )


class PublicNetwork(httpcore.AsyncNetworkBackend):
    """The given network, or that of the machine, without its private parts."""

    def __init__(self, network: httpcore.AsyncNetworkBackend | None = None) -> None:
        self._network = network or httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of a host that answers; `timeout` in seconds.

        Raises:
            AddressRefused: one of the host's addresses is not public.
            httpcore.ConnectError, httpcore.ConnectTimeout: as without the check.
        """
        try:
            async with asyncio.timeout(timeout):
                addresses = await public_addresses(host, port)
                return await self._first_of(addresses, port, timeout, local_address, socket_options)
        except TimeoutError:
            raise httpcore.ConnectTimeout(f"{host} did not answer in time") from None

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Refused: what stands behind a socket of this machine is not public."""
        raise AddressRefused(path)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def _first_of(
        self,
        addresses: list[str],
        port: int,
        timeout: float | None,
        local_address: str | None,
        socket_options: Iterable[Any] | None,
    ) -> httpcore.AsyncNetworkStream:
        # An address that swallows packets must not use up the time of those behind it.
        each_timeout = None if timeout is None else timeout / len(addresses)
        failure: Exception = httpcore.ConnectError("the host has no address")
        for address in addresses:
            try:
                return await self._network.connect_tcp(address, port, each_timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as fault:
                failure = fault
        raise failure


async def public_addresses(host: str, port: int) -> list[str]:
    """Every address of a host, in the order of the resolver.

    Raises:
        AddressRefused: one of them is not public.
        httpcore.ConnectError: the name has none.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as fault:
        raise httpcore.ConnectError(f"the name {host} cannot be resolved: {fault}") from None
    addresses = list(dict.fromkeys(str(info[4][0]) for info in found))
    if not all(is_public(address) for address in addresses):
        raise AddressRefused(host)
    return addresses


def is_public(address: str) -> bool:
    """Whether an IP address, in any notation of `ipaddress`, is one that anybody on the internet could call."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, IPv6Address):
        carried = _carried(ip)
        if carried is not None:
            return _is_public_v4(carried)
        return ip in _GLOBAL_UNICAST and ip.is_global and not ip.is_multicast
    return _is_public_v4(ip)


def _is_public_v4(ip: IPv4Address) -> bool:
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or any(ip in network for network in _PRIVATE_TOO))


def _carried(ip: IPv6Address) -> IPv4Address | None:
    if ip in _NAT64:
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour
