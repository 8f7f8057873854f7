"""Which addresses outbound requests may reach."""

from ipaddress import ip_address, ip_network

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings
from yarl import URL

from healthsvc.kernel.addresses import AddressRules, address_read, address_rules, host_is_sound

NOTHING_ALLOWED = AddressRules((), frozenset())

LOCAL = [
    "127.0.0.1", "127.8.9.1", "0.0.0.0", "0.1.2.3", "::1", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0", "::7f00:1",  # noqa: S104 - an address under test
    "64:ff9b::7f00:1", "64:ff9b::127.0.0.1",
]  # fmt: skip
METADATA = [
    "169.254.169.254", "169.254.170.2", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fd00:ec2::254",
    "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fe80::1", "fe80::a9fe:a9fe", "fe80::1%1",
]  # fmt: skip
MANY_RECEIVERS = ["224.0.0.1", "239.255.255.250", "255.255.255.255", "ff02::1", "ff0e::1"]
PRIVATE = [
    "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1",
    "203.0.113.1", "240.0.0.1", "192.88.99.1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "fc00::1", "fd12:3456::1",
    "fec0::1", "2001:db8::1", "100::1", "3fff::1", "5f00::1",
]  # fmt: skip
TUNNELS = [
    "2002:7f00:1::", "2002:a00:1::1", "2002:0808:0808::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "64:ff9b:1::7f00:1", "::ffff:0:127.0.0.1", "::ffff:0:0:1",
]  # fmt: skip
PUBLIC = [
    "8.8.8.8", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450:4001::1",
    "::ffff:8.8.8.8", "64:ff9b::808:808",
]  # fmt: skip


@pytest.mark.parametrize("text", LOCAL + METADATA + MANY_RECEIVERS + PRIVATE + TUNNELS)
def test_what_is_not_public_is_refused(text: str) -> None:
    assert not NOTHING_ALLOWED.permits(ip_address(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_what_is_public_is_permitted(text: str) -> None:
    assert NOTHING_ALLOWED.permits(ip_address(text))


@pytest.mark.parametrize("text", LOCAL + METADATA + MANY_RECEIVERS)
def test_no_allowed_network_covers_this_machine_metadata_or_multicast(text: str) -> None:
    everything = AddressRules((ip_network("0.0.0.0/0"), ip_network("::/0")), frozenset())
    assert not everything.permits(ip_address(text))


def test_an_allowed_network_opens_itself_and_no_other() -> None:
    rules = AddressRules((ip_network("10.1.0.0/16"), ip_network("fd12::/16")), frozenset())
    opened = [text for text in ("10.1.2.3", "10.2.0.1", "fd12::1", "fd13::1") if rules.permits(ip_address(text))]
    assert opened == ["10.1.2.3", "fd12::1"]


@pytest.mark.parametrize("text", ["8.8.8.8", "10.0.0.1", "169.254.169.254", "2606:4700::1111"])
def test_a_loopback_origin_reaches_this_machine_only(text: str) -> None:
    assert not NOTHING_ALLOWED.permits(ip_address(text), loopback=True)
    assert NOTHING_ALLOWED.permits(ip_address("127.0.0.1"), loopback=True)
    assert NOTHING_ALLOWED.permits(ip_address("::1"), loopback=True)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.1", "0x7f.1", "0x7f000001", "2130706433", "017700000001", "0", "[::1]", "[::ffff:7f00:1]",
        "localhost", "LOCALHOST", "localhost.", "a.localhost", "10.0.0.1", "169.254.169.254", "[64:ff9b::7f00:1]",
    ],
)  # fmt: skip
def test_hosts_that_are_plainly_private_are_refused_as_written(host: str) -> None:
    assert not NOTHING_ALLOWED.permits_host(URL(f"https://{host}/hook"))


@pytest.mark.parametrize("host", ["hooks.example.com", "8.8.8.8", "[2606:4700::1111]", "localhost.example.com"])
def test_other_hosts_are_left_to_the_connection(host: str) -> None:
    assert NOTHING_ALLOWED.permits_host(URL(f"https://{host}/hook"))


def test_a_loopback_origin_is_exact(settings: Settings) -> None:
    settings.LOOPBACK_ORIGINS = ["http://127.0.0.1:8003"]
    rules = address_rules()
    tried = {
        "http://127.0.0.1:8003/any/path?x=1": True,
        "http://127.0.0.1:8004/": False,
        "https://127.0.0.1:8003/": False,
        "http://localhost:8003/": False,
        "http://127.0.0.2:8003/": False,
        "http://127.1:8003/": False,
    }
    assert {url: rules.permits_host(URL(url)) for url in tried} == tried


def test_addresses_are_read_in_their_old_forms() -> None:
    assert [str(address_read(text)) for text in ("0x7f.1", "2130706433", "[::1]", "10.1", "example.com")] == [
        "127.0.0.1", "127.0.0.1", "::1", "10.0.0.1", "None",
    ]  # fmt: skip


@pytest.mark.parametrize(("networks", "origins"), [(["10.0.0.0/33"], []), (["10.0.0.1/8"], []), ([], ["localhost"])])
def test_settings_that_are_not_understood_stop_everything(
    settings: Settings, networks: list[str], origins: list[str]
) -> None:
    settings.OUTBOUND_ALLOWED_NETWORKS = networks
    settings.LOOPBACK_ORIGINS = origins
    with pytest.raises(ImproperlyConfigured):
        address_rules()


@pytest.mark.parametrize(
    "host",
    [
        "example.com",
        "EXAMPLE.com.",
        "a_b.example",
        "xn--bcher-kva.example",
        "8.8.8.8",
        "0x8.8",
        "2606:4700::1111",
        "a" * 63,
    ],
)
def test_hosts_that_could_be_dialled(host: str) -> None:
    assert host_is_sound(host)


@pytest.mark.parametrize(
    "host",
    [
        "", ".", "example..com", ".example.com", "a" * 64 + ".example", "256.256.256.256", "1.1.1.1.1", "v1.x:",
        "%31%32%37.0.0.1", "loc%61lhost", "-a.example", "a-.example", ("a" * 60 + ".") * 5 + "example", "a b.example",
    ],
)  # fmt: skip
def test_hosts_that_could_never_be_dialled(host: str) -> None:
    assert not host_is_sound(host)
