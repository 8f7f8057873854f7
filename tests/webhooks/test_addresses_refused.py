"""Every form of an address that is not public is refused for a webhook: as it is written, and when it is dialled."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from pytest_django import Settings

from healthsvc.kernel.errors import ServiceError
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from tests.factories import Tenant, tenant_make
from tests.kernel.test_addresses import LOCAL, MANY_RECEIVERS, METADATA, PRIVATE, TUNNELS
from tests.name_server import Resolve, address_of, names_resolving
from tests.webhooks.conftest import attempts, deliveries, emit, endpoint_make, pump
from tests.webhooks.receiving import Answer, Receiver
from webhooks import services
from webhooks.models import Attempt, Endpoint

#: Hosts as somebody writes them who means this machine, a private network or metadata.
HOSTS = [
    # the forms of the reference
    "127.0.0.1", "localhost", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "169.254.169.254",  # noqa: S104 - under test
    "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "100.64.0.1", "[fd00:ec2::254]", "10.0.0.1", "224.0.0.1", "192.0.2.1",
    "[fec0::1]", "[ff02::1]", "[::7f00:1]",
    # decimal, octal, hexadecimal, with parts left out
    "2130706433", "017700000001", "0177.0.0.1", "0x7f000001", "0x7f.0x0.0x0.0x1", "127.1", "127.0.1", "0", "10.1",
    "2852039166", "0xa9fea9fe", "0300.0250.1", "4294967295",
    # the root's dot, capitals, names below localhost
    "127.0.0.1.", "0x7f.1.", "localhost.", "localhost..", "LOCALHOST", "LocalHost.", "a.localhost", "a.b.LOCALHOST.",
    # letters and digits that become plain ones when the name is prepared
    "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "ｌｏｃａｌｈｏｓｔ", "ℓocalhost", "localhoſt", "127。0。0。1", "１２７.0.0.1", "①②⑦.0.0.1",
    "１６９．254.169.254",
    # zones, long forms, translation and tunnels
    "[fe80::1%25lo]", "[::1%25lo]", "[0:0:0:0:0:0:0:1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]",
    "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::7f00:1]", "[2001::1]", "[2002:a00:1::1]",
]  # fmt: skip
#: What hides another host, or is none.
MALFORMED = [
    "user@127.0.0.1", "user:secret@example.com", "hooks.example.com@127.0.0.1", "hooks.example.com\\@127.0.0.1",
    "127.0.0.1\t", "hooks.example.com 127.0.0.1", "hooks.example.com:65536", "localhost\u00ad", "lo\u200bcalhost",
    "[::1", "",
]  # fmt: skip
#: What a name may resolve to.
ADDRESSES = LOCAL + METADATA + MANY_RECEIVERS + PRIVATE + TUNNELS
#: Endpoints of one team in these tests: below what a team may have.
_BATCH = 40


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """A socket of this machine that must see no connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def connections_of(listening: socket.socket) -> int:
    """How many connections came."""
    count = 0
    while True:
        try:
            accepted, _ = listening.accept()
        except BlockingIOError:
            return count
        accepted.close()
        count += 1


@pytest.fixture
def resolver() -> Iterator[Callable[[Resolve], list[str]]]:
    """Says what names resolve to, as their server; the names that were asked for."""
    with ExitStack() as stack:
        yield lambda resolve: stack.enter_context(names_resolving(resolve))


def errors_by_endpoint(endpoints: dict[Any, str]) -> dict[str, list[tuple[int | None, str]]]:
    """Status and error of each attempt, under the names that a test gave its endpoints."""
    found: dict[str, list[tuple[int | None, str]]] = {name: [] for name in endpoints.values()}
    with system_scope(SystemScope.DELIVERY):
        for attempt in Attempt.objects.select_related("delivery"):
            found[endpoints[attempt.delivery.endpoint_id]].append((attempt.status_code, attempt.error))
    return found


def refusal(tenant: Tenant, host: str) -> tuple[list[str], str]:
    """Where and why an endpoint at a host is refused."""
    with pytest.raises(ServiceError) as refused:
        endpoint_make(tenant, f"https://{host}/hook")
    detail: Any = refused.value.detail
    (problem,) = detail
    with team_scope(tenant.context):
        assert not Endpoint.objects.exists()
    return (problem["loc"], problem["type"])


@pytest.mark.parametrize("host", HOSTS)
def test_what_is_plainly_not_public_is_refused_at_creation(team: Tenant, host: str) -> None:
    assert refusal(team, host) == (["body", "url"], "url_private")


@pytest.mark.parametrize("host", MALFORMED)
def test_what_hides_a_host_is_refused_at_creation(team: Tenant, host: str) -> None:
    assert refusal(team, host) == (["body", "url"], "url_parsing")


def test_a_change_of_the_url_is_refused_alike(team: Tenant, endpoint: Endpoint) -> None:
    for host in HOSTS:
        with team_scope(team.context), pytest.raises(ServiceError):
            changes = {"url": f"https://{host}/hook"}
            services.endpoint_patch(team=team.context, endpoint_id=endpoint.id, changes=changes)
    with team_scope(team.context):
        assert Endpoint.objects.get().url == endpoint.url


def test_a_plain_host_that_is_in_the_table_all_the_same_is_not_dialled(listening: socket.socket, db: None) -> None:
    """As if it had been allowed when it was written."""
    port = listening.getsockname()[1]
    endpoints: dict[Any, str] = {}
    for begin in range(0, len(HOSTS), _BATCH):
        tenant = tenant_make()
        for host in HOSTS[begin : begin + _BATCH]:
            made = endpoint_make(tenant, "https://hooks.example.com/hook")
            with team_scope(tenant.context):
                Endpoint.objects.filter(pk=made.pk).update(url=f"http://{host}:{port}/hook")
            endpoints[made.id] = host
        emit(tenant)
    pump()
    assert errors_by_endpoint(endpoints) == {host: [(None, "refused_address")] for host in HOSTS}
    assert connections_of(listening) == 0


def test_a_name_is_refused_for_what_it_resolves_to(
    listening: socket.socket, db: None, resolver: Callable[[Resolve], list[str]]
) -> None:
    port = listening.getsockname()[1]
    names = {f"hooks-{number}.example.com": address for number, address in enumerate(ADDRESSES)}
    endpoints: dict[Any, str] = {}
    for begin in range(0, len(names), _BATCH):
        tenant = tenant_make()
        for name in list(names)[begin : begin + _BATCH]:
            endpoints[endpoint_make(tenant, f"https://{name}:{port}/hook").id] = names[name]
        emit(tenant)
    asked = resolver(names.__getitem__)
    pump()
    assert errors_by_endpoint(endpoints) == {address: [(None, "refused_address")] for address in ADDRESSES}
    assert (sorted(asked), connections_of(listening)) == (sorted(names), 0)


def test_the_same_name_is_dialled_where_its_origin_is_named(
    team: Tenant, listening: socket.socket, settings: Settings, resolver: Callable[[Resolve], list[str]]
) -> None:
    """So the socket of these tests does see whoever dials it."""
    origin = f"https://hooks.example.com:{listening.getsockname()[1]}"
    settings.LOOPBACK_ORIGINS = [origin]
    endpoint_make(team, f"{origin}/hook")
    emit(team)
    resolver(lambda _host: "127.0.0.1")
    pump(timeout_seconds=0.5)
    assert (attempts()[0].error, connections_of(listening)) == ("timeout", 1)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "169.254.169.254", "10.0.0.1"])
def test_a_name_that_moves_between_the_check_and_the_connection_is_refused(
    team: Tenant, listening: socket.socket, resolver: Callable[[Resolve], list[str]], address: str
) -> None:
    answers = iter(["93.184.216.34"])
    asked = resolver(lambda _host: next(answers, address))
    port = listening.getsockname()[1]
    endpoint_make(team, f"https://moving.example.com:{port}/hook")
    assert address_of("moving.example.com") == "93.184.216.34", "public to whoever asks first"
    emit(team)
    pump()
    (attempt,), (delivery,) = attempts(), deliveries()
    assert (attempt.status_code, attempt.error, delivery.status) == (None, "refused_address", "pending")
    assert (asked, connections_of(listening)) == (["moving.example.com"] * 2, 0)


def test_a_redirect_to_any_of_them_is_not_followed(
    team: Tenant, endpoint: Endpoint, hook: Receiver, listening: socket.socket
) -> None:
    port = listening.getsockname()[1]
    hosts = ["127.0.0.1", "localhost", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]", "127.0.0.1.", "user@127.0.0.1"]
    places = [f"http://{host}:{port}/inside" for host in hosts] + [f"//127.0.0.1:{port}/inside", f"{hook.url}/inside"]
    codes = [301, 302, 303, 307, 308]
    expected = [codes[number % len(codes)] for number in range(len(places))]
    hook.answers = [Answer(code, {"Location": place}) for code, place in zip(expected, places, strict=True)]
    for _ in places:
        emit(team)
    pump()
    assert sorted(attempt.status_code or 0 for attempt in attempts()) == sorted(expected)
    assert {request.path for request in hook.received} == {"/hook"}
    assert {delivery.status for delivery in deliveries()} == {"pending"}
    assert connections_of(listening) == 0


def test_no_network_of_the_operator_opens_this_machine_or_metadata(
    listening: socket.socket, db: None, settings: Settings, resolver: Callable[[Resolve], list[str]]
) -> None:
    settings.OUTBOUND_ALLOWED_NETWORKS = ["0.0.0.0/0", "::/0"]
    never = LOCAL + METADATA
    tenant = tenant_make()
    port = listening.getsockname()[1]
    names = {f"hooks-{number}.example.com": address for number, address in enumerate(never)}
    endpoints = {endpoint_make(tenant, f"https://{name}:{port}/hook").id: names[name] for name in names}
    emit(tenant)
    resolver(names.__getitem__)
    pump()
    assert errors_by_endpoint(endpoints) == {address: [(None, "refused_address")] for address in never}
    assert connections_of(listening) == 0


def test_port_nought_reaches_nobody(team: Tenant, resolver: Callable[[Resolve], list[str]]) -> None:
    with team_scope(team.context):
        made = endpoint_make(team, "https://hooks.example.com/hook")
        Endpoint.objects.filter(pk=made.pk).update(url="https://hooks.example.com:0/hook")
    resolver(lambda _host: "127.0.0.1")
    emit(team)
    pump()
    (attempt,) = attempts()
    assert (attempt.status_code, attempt.error in ("refused_address", "invalid_url")) == (None, True)
