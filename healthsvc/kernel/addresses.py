"""Which addresses outbound requests may reach: public ones, and what the operator named. Asked at connect time.

The tables are written out, because `ipaddress.is_global` changes between Python versions and calls site-local,
multicast and IPv4-compatible addresses global. Sources: IANA's special-purpose address registries for IPv4 and
IPv6, RFC 4291 (forms of IPv6), RFC 6052 and RFC 8215 (NAT64), RFC 7526 (6to4 is over), RFC 6761 (localhost).
"""

import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from yarl import URL

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

#: Never reached, whatever the operator allows: this machine, this link, clouds' metadata, many receivers at once.
_NEVER: Final[tuple[Network, ...]] = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "100.100.100.200/32",  # metadata at Alibaba Cloud, inside the shared range
        "168.63.129.16/32",  # Azure's host, inside public space
        "192.0.0.192/32",  # metadata at Oracle Cloud
        "224.0.0.0/4",
        "255.255.255.255/32",
        "::/96",  # unspecified, loopback, and the IPv4-compatible forms
        "fe80::/10",
        "fd00:ec2::/32",  # metadata at AWS, inside private space
        "fd20:ce::/32",  # metadata at Google Cloud
        "ff00::/8",
    )
)
#: Reached only where the operator names a network.
_PRIVATE_IPV4: Final = tuple(
    IPv4Network(text)
    for text in (
        "10.0.0.0/8",
        "100.64.0.0/10",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "240.0.0.0/4",
    )
)
#: IPv6 is public only inside this network; site-local, unique-local, discard and translation prefixes lie outside.
_PUBLIC_IPV6: Final = IPv6Network("2000::/3")
_SPECIAL_IPV6: Final = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",
        "2002::/16",  # 6to4
        "3fff::/20",
    )
)
_NAT64: Final = IPv6Network("64:ff9b::/96")
_LOOPBACKS: Final[tuple[Network, ...]] = (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))


#: A label of a name; some use the underscore.
_LABEL: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.IGNORECASE)
_NAME_MAXIMUM: Final = 253


@dataclass(frozen=True, slots=True)
class AddressRules:
    """What the operator allows beyond public addresses."""

    networks: tuple[Network, ...]
    loopback_origins: frozenset[URL]

    def permits(self, address: Address, *, loopback: bool = False) -> bool:
        """Whether a connection to `address` may be opened; with `loopback` only this machine may be reached."""
        meant = _meant(address)
        if loopback:
            return _within(meant, _LOOPBACKS)
        if _within(meant, _NEVER):
            return False
        return _within(meant, self.networks) or _is_public(meant)

    def is_loopback_origin(self, url: URL) -> bool:
        """Whether the exact scheme, host and port of `url` were named by the operator."""
        return url.origin() in self.loopback_origins

    def permits_host(self, url: URL) -> bool:
        """Whether the host, as it is written, may be meant at all; names are checked again when they are dialled."""
        if self.is_loopback_origin(url):
            return True
        host = (url.host or "").rstrip(".").lower()
        if host == "localhost" or host.endswith(".localhost"):
            return False
        written = address_read(host)
        return written is None or self.permits(written)


def host_is_sound(host: str) -> bool:
    """Whether a host, as a URL parser reads it, could ever be dialled: an address, or a name of DNS (RFC 1123)."""
    if ":" in host:
        return address_read(host) is not None
    name = host.removesuffix(".")
    labels = name.split(".")
    # A name whose last label is a number is an address that was mistyped.
    return (
        len(name) <= _NAME_MAXIMUM
        and all(map(_LABEL.fullmatch, labels))
        and (not labels[-1].isdecimal() or address_read(host) is not None)
    )


def address_rules() -> AddressRules:
    """The rules of the settings."""
    return _rules(tuple(settings.OUTBOUND_ALLOWED_NETWORKS), tuple(settings.LOOPBACK_ORIGINS))


def address_read(text: str) -> Address | None:
    """The address that a host's text is, in the old forms of IPv4 too (`0x7f.1`, `2130706433`); None for a name."""
    try:
        return ip_address(text.strip("[]"))
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(text))
    except (OSError, UnicodeError):
        return None


@lru_cache(maxsize=8)
def _rules(networks: tuple[str, ...], origins: tuple[str, ...]) -> AddressRules:
    try:
        return AddressRules(
            tuple(ip_network(text) for text in networks), frozenset(URL(text).origin() for text in origins)
        )
    except ValueError as error:
        message = "OUTBOUND_ALLOWED_NETWORKS must be CIDR networks, and HEALTHSVC_LOOPBACK_ORIGINS origins."
        raise ImproperlyConfigured(message) from error


def _meant(address: Address) -> Address:
    """The IPv4 address inside a mapped or NAT64 address, where a connection to it would end up."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return not _within(address, _PRIVATE_IPV4)
    return address in _PUBLIC_IPV6 and not _within(address, _SPECIAL_IPV6)


def _within(address: Address, networks: Sequence[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)
