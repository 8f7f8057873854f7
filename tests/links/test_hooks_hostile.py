"""Notices that nobody in earnest sends, rightly signed or not, at the real address: answered, and never with a 5xx."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.test import Client

from healthsvc.kernel import clock
from healthsvc.kernel.crypto import seal
from healthsvc.kernel.principal import Environment
from links.catalogue import catalogue
from links.constants import SIMULATOR_CLIENT_SECRET
from links.models import ProviderHook
from links.services.hooks import taker_of
from tests.links.simulators import Simulator

pytestmark = pytest.mark.django_db

TOKEN = "a token that was chosen for the subscription"
POLAR_KEY = b"polar's own key"
#: A notice of each vendor that is taken as it stands.
NOTICES: Mapping[str, Any] = {
    "garmin": {
        "dailies": [
            {
                "userId": "u",
                "callbackURL": "https://g.example/?uploadStartTimeInSeconds=1&uploadEndTimeInSeconds=2",
            }
        ],
        "deregistrations": [{"userId": "u"}],
        "userPermissionsChange": [{"userId": "u"}],
    },
    "google_health": [
        {
            "type": "",
            "data": {
                "healthUserId": "u",
                "dataType": "steps",
                "operation": "UPSERT",
                "intervals": [
                    {
                        "physicalTimeInterval": {
                            "startTime": "2026-11-10T00:00:00Z",
                            "endTime": "2026-11-10T01:00:00Z",
                        }
                    }
                ],
            },
        }
    ],
    "hammerhead": {"activityId": "a", "userId": "u"},
    "oura": {"event_type": "update", "data_type": "sleep", "object_id": "o", "user_id": "u"},
    "polar": {"event": "SLEEP", "user_id": 1, "date": "2026-11-10"},
    "strava": {
        "object_type": "athlete",
        "aspect_type": "update",
        "owner_id": 1,
        "event_time": 1_790_000_000,
        "updates": {"authorized": "false"},
    },
    "wahoo": {
        "event_type": "workout_summary",
        "webhook_token": TOKEN,
        "user": {"id": 1},
        "workout_summary": {"workout": {"starts": "2026-11-10T10:00:00Z"}},
    },
    "whoop_v2": {"user_id": 1, "id": "w", "type": "sleep.updated"},
    "withings": {
        "userid": "u",
        "appli": "1",
        "startdate": "1790000000",
        "enddate": "1790003600",
        "date": "2026-11-10",
        "action": "unlink",
    },
}
HOSTILE: tuple[Any, ...] = (
    "a\x00b",
    "\x00",
    "\ud800",
    "a\udfffb",
    "\r\nSet-Cookie: a=b",
    "x" * 5_000,
    "",
    " ",
    "\u202e",
    "\uffff",
    "٣٣٣٣",
    "²",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "0001-01-01",
    "9999-12-31",
    "-1",
    "9" * 12,
    "9" * 400,
    "https://[",
    "https://g.example/?uploadStartTimeInSeconds=999999999999&uploadEndTimeInSeconds=999999999999",
    None,
    True,
    False,
    0,
    -1,
    2**53,
    2**63,
    2**64,
    10**400,
    1.5,
    float("inf"),
    float("nan"),
    [],
    [[]],
    [None],
    {},
    {"": {}},
)


@pytest.fixture(autouse=True)
def _vendors(simulator: Simulator) -> None:
    """The sandbox has its applications."""


def hook_make(slug: str) -> str:
    """The address of a standing subscription."""
    sealed = base64.urlsafe_b64encode(seal(POLAR_KEY, place="polar.signature_secret_key")).decode()
    now = clock.now()
    hook = ProviderHook.objects.create(
        provider=slug,
        environment="sandbox",
        status="active",
        verify_token=TOKEN,
        external_id=f"1:{sealed}" if slug == "polar" else "",
        not_before=now,
        created_at=now,
    )
    return f"/link/hook/{slug}/{hook.pk}"


def signed(body: bytes) -> dict[str, str]:
    """The body signed as every vendor signs."""
    seconds = str(int(clock.now().timestamp()))

    def mac(secret: str | bytes, text: bytes) -> Any:
        return hmac.new(secret.encode() if isinstance(secret, str) else secret, text, hashlib.sha256)

    milliseconds = f"{seconds}000"
    whoop = mac(SIMULATOR_CLIENT_SECRET, milliseconds.encode() + body).digest()
    strava = mac(SIMULATOR_CLIENT_SECRET, seconds.encode() + b"." + body).hexdigest()
    return {
        "X-Oura-Timestamp": seconds,
        "X-Oura-Signature": mac(SIMULATOR_CLIENT_SECRET, seconds.encode() + body).hexdigest().upper(),
        "X-Whoop-Signature-Timestamp": milliseconds,
        "X-Whoop-Signature": base64.b64encode(whoop).decode(),
        "X-Strava-Signature": f"t={seconds},v1={strava}",
        "X-Hmac-Signature": mac(TOKEN, body).hexdigest(),
        "Polar-Webhook-Signature": mac(POLAR_KEY, body).hexdigest(),
        "Authorization": f"Bearer {TOKEN}",
    }


def brought(path: str, body: bytes, kind: str = "application/json", headers: dict[str, str] | None = None) -> int:
    """How a call with this body is answered; a failure of a view is raised."""
    sent = signed(body) if headers is None else headers
    return int(Client().generic("POST", path, body, content_type=kind, headers=sent).status_code)


def variants(document: Any) -> Iterator[Any]:
    """The document with each hostile value in each place, and in place of all of it."""
    yield from HOSTILE
    if isinstance(document, dict):
        for name, value in document.items():
            for one in variants(value):
                yield {**document, name: one}
            yield {key: kept for key, kept in document.items() if key != name}
        for one in ("\x00", "\ud800", "x" * 5_000):
            yield {**document, one: one}
    if isinstance(document, list):
        for number, value in enumerate(document):
            for one in variants(value):
                yield [*document[:number], one, *document[number + 1 :]]


def written(slug: str, document: Any) -> tuple[bytes, str]:
    """A body as the vendor writes it."""
    if slug == "withings":
        fields = document if isinstance(document, dict) else {"userid": document}
        pairs = ((quote(str(name), errors="surrogatepass"), str(value)) for name, value in fields.items())
        form = "&".join(f"{name}={quote(value, errors='surrogatepass')}" for name, value in pairs)
        return form.encode(), "application/x-www-form-urlencoded"
    return json.dumps(document).encode(), "application/json"


def takers() -> list[str]:
    """Every vendor that tells of changes."""
    return [slug for slug in catalogue() if taker_of(slug, Environment.SANDBOX) is not None]


def test_every_vendor_that_tells_of_changes_is_tried() -> None:
    assert sorted(takers()) == sorted(NOTICES)


@pytest.mark.parametrize("slug", sorted(NOTICES))
def test_a_sound_notice_is_taken(slug: str) -> None:
    body, kind = written(slug, NOTICES[slug])
    assert brought(hook_make(slug), body, kind) in (200, 204)
    assert ProviderHook.objects.get().called_at is not None


@pytest.mark.slow
@pytest.mark.parametrize("slug", sorted(NOTICES))
def test_no_notice_fails_us(slug: str) -> None:
    path = hook_make(slug)
    statuses = {brought(path, *written(slug, document)) for document in variants(NOTICES[slug])}
    assert max(statuses) < 500
    assert statuses <= {200, 201, 204, 400, 403}


@pytest.mark.parametrize("slug", sorted(NOTICES))
def test_no_body_fails_us(slug: str) -> None:
    path = hook_make(slug)
    deep = b"[" * 100_000
    bodies = (b"", b"\x00", b"\xff\xfe", b"{", b"null", b"%00=%00", b"userid=%00&appli=1", b"userid=%ff&appli=46", deep)
    statuses = [brought(path, body, kind) for body in bodies for kind in ("application/json", "text/plain", "")]
    assert max(statuses) < 500


@pytest.mark.parametrize("slug", sorted(NOTICES))
def test_no_header_fails_us(slug: str) -> None:
    path = hook_make(slug)
    body, kind = written(slug, NOTICES[slug])
    sound = signed(body)
    given = ("", "\xff", "é", "x" * 4_000, "9" * 400, "²", "-1", "0001-01-01T00:00:00+23:59", "t=,v1=", "t=9,v1=é")
    for name in sound:
        for value in given:
            assert brought(path, body, kind, {**sound, name: value}) < 500


@pytest.mark.parametrize("slug", sorted(NOTICES))
def test_no_challenge_fails_us(slug: str) -> None:
    path = hook_make(slug)
    given = ("", "\x00", "\xff", "x" * 5_000, "\ud800", TOKEN)
    names = ("verification_token", "challenge", "hub.verify_token", "hub.challenge", "hub.mode")
    for value in given:
        query = "&".join(f"{name}={quote(value, errors='surrogatepass')}" for name in names)
        assert Client().get(f"{path}?{query}").status_code < 500
        assert Client().get(f"{path}?{query}&{urlencode({'hub.mode': 'subscribe'})}").status_code < 500
    assert Client().get(f"{path}?challenge=%ff&verification_token=%fe&hub.challenge=%c0%ae").status_code < 500
