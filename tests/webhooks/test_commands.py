"""The receiver that developers run, and the pump that needs no broker."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from healthsvc.kernel.http import fetch
from tests.factories import Tenant
from tests.webhooks.conftest import deliveries, emit, make_due, pump
from tests.webhooks.receiving import Answer, Receiver
from webhooks.management.commands import webhooks_pump
from webhooks.models import Endpoint
from webhooks.pump import PumpOptions
from webhooks.signatures import secret_key, secret_make, signed_headers

BODY = b'{"event_type":"webhook.test","data":{"glucose":5.4},"team_id":"t","user_id":null,"client_user_id":null}'


@contextmanager
def receiving(settings: Settings, out: StringIO, *arguments: str, count: int) -> Iterator[str]:
    """The address of a receiver that ends after `count` events."""
    options = ("webhook_receiver", "--port", "0", "--count", str(count), *arguments)
    thread = threading.Thread(target=lambda: call_command(*options, stdout=out), daemon=True)
    thread.start()
    while "\n" not in out.getvalue():
        time.sleep(0.005)
    url = out.getvalue().split()[-1]
    settings.LOOPBACK_ORIGINS = [url]
    yield url
    thread.join(10)
    assert not thread.is_alive()


def send(url: str, secret: str, body: bytes = BODY, *, seconds_ago: int = 0) -> int:
    """The answer to one signed event."""
    headers = signed_headers([secret_key(secret)], "msg_1", int(time.time()) - seconds_ago, body)
    return fetch("POST", url, timeout_seconds=5, headers=headers, body=body).status


def test_without_a_secret_nothing_is_verified(settings: Settings) -> None:
    out = StringIO()
    with receiving(settings, out, count=1) as url:
        assert send(url, secret_make()) == 204
    text = out.getvalue()
    assert url.startswith("http://127.0.0.1:")
    assert "webhook.test  not verified  msg_1" in text
    assert "svix-signature" in text
    assert "glucose" not in text


def test_with_a_secret_each_is_verified_or_refused(settings: Settings, tmp_path: Path) -> None:
    secret, out = secret_make(), StringIO()
    kept = tmp_path / "secret"
    kept.write_text(secret + "\n")
    with receiving(settings, out, "--secret-file", str(kept), "--json", "--show-body", count=3) as url:
        assert [send(url, secret), send(url, secret_make()), send(url, secret, seconds_ago=301)] == [204, 401, 401]
    lines = [json.loads(line) for line in out.getvalue().splitlines()[1:]]
    assert [line["signature"] for line in lines] == ["verified", "signature_wrong", "timestamp_refused"]
    assert lines[0]["body"]["data"] == {"glucose": 5.4}
    assert (lines[0]["event_type"], lines[0]["message_id"], lines[0]["bytes"]) == ("webhook.test", "msg_1", len(BODY))


def test_a_body_that_is_no_json_is_told_too(settings: Settings) -> None:
    secret, out = secret_make(), StringIO()
    with receiving(settings, out, "--secret", secret, "--show-body", count=1) as url:
        assert send(url, secret, b"\xff") == 204
    assert "None  verified  msg_1  1 bytes" in out.getvalue()


@pytest.mark.parametrize("arguments", [["--secret", "x"], ["--secret-file", "/nonexistent/secret"]])
def test_a_bad_secret_is_refused_at_the_start(arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("webhook_receiver", *arguments)


def test_a_port_in_use_is_told_in_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CommandError) as refused:
            call_command("webhook_receiver", "--port", str(port))
    assert str(refused.value) == f"Port {port} of 127.0.0.1 is in use; choose another with --port."
    assert refused.value.returncode == 1
    with pytest.raises(CommandError, match=r"^--port must be between 0 and 65535\.$"):
        call_command("webhook_receiver", "--port", "65536")


@pytest.mark.django_db
def test_a_pump_that_runs_once_does_not_wait_for_an_endpoint_that_asked_for_a_pause(
    team: Tenant, endpoint: Endpoint, hook: Receiver
) -> None:
    hook.answers = [Answer(429, {"Retry-After": "3600"})]
    emit(team)
    pump()
    emit(team)
    make_due()
    out = StringIO()
    call_command("webhooks_pump", "--once", stdout=out)
    assert out.getvalue() == "0 attempts, 0 delivered\n"


@pytest.mark.django_db
def test_a_pump_that_runs_once_ends_when_nothing_is_due(
    team: Tenant, endpoint: Endpoint, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of its pumps takes up so little here that one is not enough; one of theirs ends after 20 s."""
    monkeypatch.setattr(webhooks_pump, "PumpOptions", partial(PumpOptions, run_seconds=0.001, in_flight=1))
    hook.otherwise = Answer(500)
    for _ in range(5):
        emit(team)
    out = StringIO()
    call_command("webhooks_pump", "--once", stdout=out)
    assert out.getvalue() == "5 attempts, 0 delivered\n"
    assert [delivery.status for delivery in deliveries()] == ["pending"] * 5
