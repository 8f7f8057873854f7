"""Letters about endpoints that were disabled, handed to a real mail server on this machine."""

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
import structlog
from django.db import connections, transaction
from pytest_django import Settings

from healthsvc.kernel import clock
from healthsvc.kernel.mail import MailServer, mail_send
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from management.models import TeamSettings
from tests import factories
from tests.factories import Tenant
from tests.webhooks.conftest import endpoint_make
from tests.webhooks.mail_receiving import MailBox, mail_box
from tests.webhooks.receiving import Receiver
from webhooks import services
from webhooks.models import Endpoint, EndpointHealth
from webhooks.services import health as health_services
from webhooks.services import notices
from webhooks.tasks import letters_send

TEAM_ADDRESS = "hooks@customer.example"
STAFF = ["ops@service.example", "duty@service.example"]


@pytest.fixture
def box(settings: Settings) -> Iterator[MailBox]:
    """A mail server that the settings name."""
    with mail_box() as running:
        settings.MAIL_SERVER = MailServer("127.0.0.1", running.port, wrapped=False)
        settings.EMAIL_FROM = "healthsvc@service.example"
        settings.STAFF_NOTICE_EMAILS = STAFF
        yield running


@pytest.fixture
def disabled(team: Tenant, hook: Receiver) -> Endpoint:
    """An endpoint that was just disabled for its failures."""
    return _disabled(team, hook)


def _disabled(tenant: Tenant, hook: Receiver, *, address: str = TEAM_ADDRESS, reason: str = "failing") -> Endpoint:
    with team_scope(tenant.context):
        TeamSettings.objects.update_or_create(
            team_id=tenant.team.pk, environment="sandbox", defaults={"webhook_notice_email": address}
        )
    endpoint = endpoint_make(tenant, f"{hook.url}/path-of-theirs?token=hidden")
    with system_scope(SystemScope.DELIVERY), transaction.atomic():
        now = clock.now()
        EndpointHealth.objects.create(
            endpoint=endpoint,
            team_id=tenant.team.pk,
            environment="sandbox",
            first_failure_at=now - timedelta(days=6),
            failing_since=now - timedelta(days=5),
            updated_at=now,
        )
        assert health_services.endpoints_disable([endpoint.pk], reason, now) == 1
    return _row(endpoint)


def _row(endpoint: Endpoint) -> Endpoint:
    with system_scope(SystemScope.DELIVERY):
        return Endpoint.objects.get(pk=endpoint.pk)


def _due_again(endpoint: Endpoint) -> None:
    with system_scope(SystemScope.DELIVERY):
        Endpoint.objects.filter(pk=endpoint.pk).update(disabled_tell_at=clock.now())


def test_team_and_staff_are_written_to_once(disabled: Endpoint, box: MailBox) -> None:
    letters_send()
    letters_send()
    to_team, to_staff = box.letters
    assert (to_team.sender, to_team.to) == ("healthsvc@service.example", (TEAM_ADDRESS,))
    assert to_staff.to == tuple(STAFF)
    assert disabled.disabled_at is not None
    stamp = int(disabled.disabled_at.timestamp())
    assert to_team.message["Message-ID"] == f"<{disabled.pk}.{stamp}.team@service.example>"
    assert to_team.message["Subject"] == "Webhook endpoint disabled (sandbox)"
    assert to_team.message["Auto-Submitted"] == "auto-generated"
    text = to_team.message.get_content()
    since = disabled.disabled_at - timedelta(days=5)
    for piece in (
        f"{disabled.pk} at 127.0.0.1",
        f"Failing since: {since:%Y-%m-%d %H:%M} UTC",
        "Enable it again",
        "Recover what failed",
    ):
        assert piece in text
    assert f"/admin/webhooks/endpoint/{disabled.pk}/change/" in to_staff.message.get_content()
    for letter in box.letters:
        assert "hidden" not in letter.message.as_string()
        assert "path-of-theirs" not in letter.message.as_string()
    row = _row(disabled)
    assert row.disabled_told_at is not None
    assert row.disabled_told_staff_at is not None
    assert row.disabled_tell_at is None


def test_one_that_is_gone_says_so(team: Tenant, hook: Receiver, box: MailBox) -> None:
    _disabled(team, hook, reason="gone")
    letters_send()
    assert len(box.letters) == 2
    for letter in box.letters:
        assert "it answered 410 Gone" in letter.message.get_content()
        assert "Failing since" not in letter.message.get_content()


def test_without_an_address_of_the_team_only_the_staff_is_told(team: Tenant, hook: Receiver, box: MailBox) -> None:
    endpoint = _disabled(team, hook, address="")
    letters_send()
    assert [letter.to for letter in box.letters] == [tuple(STAFF)]
    assert (_row(endpoint).disabled_told_at, _row(endpoint).disabled_tell_at) == (None, None)


def test_without_a_mail_server_nobody_is_written_to(disabled: Endpoint, settings: Settings) -> None:
    settings.MAIL_SERVER = None
    letters_send()
    row = _row(disabled)
    assert (row.disabled_tell_at, row.disabled_told_at, row.disabled_told_staff_at) == (None, None, None)


@pytest.mark.slow
def test_a_mail_server_that_is_away_is_tried_again_after_waits_that_double(
    disabled: Endpoint, box: MailBox, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = disabled.disabled_at
    assert begin is not None
    now = [begin]
    monkeypatch.setattr(clock, "now", lambda: now[0])
    working, settings.MAIL_SERVER = settings.MAIL_SERVER, MailServer("127.0.0.1", 1, wrapped=False)
    tries = []
    for _ in range(13):
        letters_send()
        due = _row(disabled).disabled_tell_at
        assert due is not None
        tries.append((now[0] - begin) // timedelta(minutes=1))
        now[0] = due - timedelta(seconds=1)
        letters_send()
        assert _row(disabled).disabled_tell_at == due, "not before its time"
        now[0] = due
    assert tries == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 872, 1232]
    settings.MAIL_SERVER = working
    now[0] = begin + timedelta(days=2)
    letters_send()
    assert [letter.to for letter in box.letters] == [(TEAM_ADDRESS,), tuple(STAFF)]


def test_what_one_was_told_is_not_told_again_for_the_other(disabled: Endpoint, box: MailBox) -> None:
    box.answers = ["250 taken", "451 later"]
    letters_send()
    row = _row(disabled)
    assert row.disabled_told_at is not None
    assert row.disabled_told_staff_at is None
    assert row.disabled_tell_at is not None
    _due_again(disabled)
    letters_send()
    assert [letter.to for letter in box.letters] == [(TEAM_ADDRESS,), tuple(STAFF)]


def test_an_address_that_is_refused_for_now_is_tried_again_and_holds_up_nobody(
    disabled: Endpoint, box: MailBox
) -> None:
    box.refusals = {TEAM_ADDRESS: "450 come back"}
    letters_send()
    assert [letter.to for letter in box.letters] == [tuple(STAFF)]
    box.refusals = {}
    _due_again(disabled)
    letters_send()
    assert [letter.to for letter in box.letters] == [tuple(STAFF), (TEAM_ADDRESS,)]


def test_an_address_that_is_refused_for_good_is_given_up_and_logged_without_it(
    disabled: Endpoint, box: MailBox
) -> None:
    box.refusals = {TEAM_ADDRESS: "550 no such box", STAFF[1]: "550 no such box"}
    with structlog.testing.capture_logs() as lines:
        letters_send()
    assert [letter.to for letter in box.letters] == [(STAFF[0],)]
    row = _row(disabled)
    assert (row.disabled_told_at, row.disabled_tell_at) == (None, None)
    assert [(line["event"], line["audience"]) for line in lines] == [
        ("letter_refused", "team"),
        ("letter_refused", "staff"),
    ]
    assert "@" not in str(lines)


@pytest.mark.parametrize("verb", ["EHLO", "MAIL", "RCPT", "DATA"])
def test_a_server_that_hangs_up_is_tried_again(disabled: Endpoint, box: MailBox, verb: str) -> None:
    box.hangs_up_at = verb
    with structlog.testing.capture_logs() as lines:
        letters_send()
    assert ([line["event"] for line in lines], box.letters) == (["mail_server_away"], [])
    box.hangs_up_at = ""
    _due_again(disabled)
    letters_send()
    assert len(box.letters) == 2


def test_a_farewell_that_fails_does_not_send_twice(disabled: Endpoint, box: MailBox) -> None:
    box.hangs_up_at = "QUIT"
    letters_send()
    letters_send()
    assert (len(box.letters), _row(disabled).disabled_tell_at) == (2, None)


def test_a_worker_that_died_after_sending_sends_the_same_letter_again(
    disabled: Endpoint, box: MailBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(_owed: notices.Disabled) -> None:
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(notices, "_same", die)
        with pytest.raises(SystemExit):
            letters_send()
    letters_send()
    assert len(box.letters) == 1, "not before its next try"
    _due_again(disabled)
    letters_send()
    first, again, _staff = box.letters
    assert first.message["Message-ID"] == again.message["Message-ID"]


def test_one_that_was_enabled_again_is_nobodys_trouble(team: Tenant, disabled: Endpoint, box: MailBox) -> None:
    with team_scope(team.context):
        services.endpoint_patch(team=team.context, endpoint_id=disabled.pk, changes={"disabled": False})
    letters_send()
    assert (box.letters, _row(disabled).disabled_tell_at) == ([], None)


def test_one_that_is_disabled_again_is_told_again(team: Tenant, disabled: Endpoint, box: MailBox) -> None:
    letters_send()
    with team_scope(team.context):
        services.endpoint_patch(team=team.context, endpoint_id=disabled.pk, changes={"disabled": False})
    with system_scope(SystemScope.DELIVERY), transaction.atomic():
        health_services.endpoints_disable([disabled.pk], "gone", clock.now() + timedelta(seconds=1))
    _due_again(disabled)
    letters_send()
    assert len(box.letters) == 4
    assert len({letter.message["Message-ID"] for letter in box.letters}) == 4


@pytest.mark.django_db(transaction=True)
def test_workers_side_by_side_send_each_letter_once(hook: Receiver, box: MailBox) -> None:
    for number in range(3):
        _disabled(factories.tenant_make(name=f"Team {number}"), hook, address=f"team{number}@customer.example")
    box.letters.clear()

    def run() -> None:
        try:
            letters_send()
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(letter.to[0] for letter in box.letters) == sorted(
        [STAFF[0]] * 3 + [f"team{number}@customer.example" for number in range(3)]
    )


@pytest.mark.django_db(transaction=True)
def test_no_letter_is_sent_while_a_transaction_is_open(
    hook: Receiver, box: MailBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    _disabled(factories.tenant_make(), hook)
    sent_within: list[bool] = []

    def watched(*given: object) -> int:
        sent_within.append(connections["default"].in_atomic_block)
        return mail_send(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(notices, "mail_send", watched)
    letters_send()
    assert sent_within == [False, False]
