"""The simulator's password and e-mail logins."""

import pytest

from simulator.passwords import KNOWN_LOGINS
from tests.simulator.running import PASSWORD, Answer, RunningSimulator

SLUGS = (
    "abbott_libreview", "beurer_api", "dexcom", "eight_sleep", "hammerhead", "kardia", "my_fitness_pal", "peloton",
    "renpho", "tandem_source", "whoop", "zwift",
)  # fmt: skip


def login(simulator: RunningSimulator, username: str, password: str = PASSWORD, slug: str = "whoop") -> Answer:
    """One try."""
    body = {"username": username, "password": password, "region": ""}
    return simulator.post_json(f"/{slug}/password/login", body)


def challenge(simulator: RunningSimulator, username: str = "mfa-sms@example.com") -> str:
    """The challenge of a login that asks for a code."""
    return str(login(simulator, username).json["challenge"])


def code(simulator: RunningSimulator, shown: str, text: str, slug: str = "whoop") -> Answer:
    """One code."""
    return simulator.post_json(f"/{slug}/password/mfa", {"challenge": shown, "code": text})


@pytest.mark.parametrize("slug", SLUGS)
def test_anybody_logs_in(simulator: RunningSimulator, slug: str) -> None:
    answer = login(simulator, "ada@example.com", slug=slug)
    assert answer.status == 200
    assert set(answer.json) == {"status", "account_id", "access_token", "refresh_token", "expires_in"}
    assert simulator.get(f"/{slug}/data/profile", str(answer.json["access_token"])).status == 200
    again = login(simulator, "ADA@example.com", slug=slug)
    assert again.json["account_id"] == answer.json["account_id"]
    assert login(simulator, "bob@example.com", slug=slug).json["account_id"] != answer.json["account_id"]


@pytest.mark.parametrize(
    ("name", "status", "error"),
    [
        ("wrong-password", 401, "invalid_credentials"),
        ("expired-password", 403, "password_expired"),
        ("wrong-region", 421, "unsupported_region"),
        ("not-shared", 403, "not_shared"),
        ("vendor-down", 503, "unavailable"),
        ("vendor-busy", 429, "rate_limited"),
    ],
)
def test_known_names(simulator: RunningSimulator, name: str, status: int, error: str) -> None:
    for username in (f"{name}@example.com", f"{name}+7@example.com", name):
        answer = login(simulator, username)
        assert (answer.status, answer.json) == (status, {"error": error})
        assert ("retry-after" in answer.headers) is (status == 429)
        by_email = simulator.post_json("/freestyle_libre/email/connect", {"email": username, "region": "us"})
        assert (by_email.status, by_email.json) == (status, {"error": error})


def test_a_wrong_password(simulator: RunningSimulator) -> None:
    assert login(simulator, "ada@example.com", "guess").json == {"error": "invalid_credentials"}
    # A name that asks for a code does so for the right password only.
    assert login(simulator, "mfa-sms@example.com", "guess").json == {"error": "invalid_credentials"}


@pytest.mark.parametrize(
    "body", [{}, {"username": "ada"}, {"username": "", "password": "x"}, {"username": "a", "password": 1}, []]
)
def test_malformed(simulator: RunningSimulator, body: object) -> None:
    assert simulator.post_json("/whoop/password/login", body).status == 400
    assert simulator.post_json("/whoop/password/mfa", body).status == 400
    assert simulator.post_json("/whoop/password/refresh", body).status == 400
    assert simulator.post_json("/whoop/email/connect", body).status == 400


def test_a_code(simulator: RunningSimulator) -> None:
    asked = login(simulator, "mfa-email@example.com").json
    assert (asked["status"], asked["method"], asked["hint"]) == ("mfa_required", "email", "m***@e***.com")
    shown = str(asked["challenge"])
    assert code(simulator, shown, "000000").json == {"error": "incorrect_mfa_code"}
    # Another vendor's challenge is none.
    assert code(simulator, shown, "123456", "zwift").json == {"error": "challenge_ended"}
    assert code(simulator, shown, "123456").json["status"] == "ok"
    assert code(simulator, shown, "123456").json == {"error": "challenge_ended"}


def test_codes_run_out(simulator: RunningSimulator) -> None:
    shown = challenge(simulator)
    assert [code(simulator, shown, "1").json["error"] for _ in range(5)] == ["incorrect_mfa_code"] * 5
    assert code(simulator, shown, "123456").json == {"error": "challenge_ended"}


def test_codes_grow_old(simulator: RunningSimulator) -> None:
    shown = challenge(simulator)
    simulator.stop_clock("2026-11-01T12:10:00+00:00")
    assert code(simulator, shown, "123456").json == {"error": "challenge_ended"}


def test_tokens_are_renewed_and_rot(simulator: RunningSimulator) -> None:
    pair = login(simulator, "ada@example.com").json
    access = str(pair["access_token"])
    simulator.fault(slug="whoop", kind="token_expired", path_prefix="/data")
    assert simulator.get("/whoop/data/profile", access).status == 401
    fresh = simulator.post_json("/whoop/password/refresh", {"refresh_token": pair["refresh_token"]}).json
    assert simulator.get("/whoop/data/profile", str(fresh["access_token"])).status == 200
    simulator.fault(slug="whoop", kind="token_dead", path_prefix="/data")
    assert simulator.get("/whoop/data/profile", str(fresh["access_token"])).status == 401
    refused = simulator.post_json("/whoop/password/refresh", {"refresh_token": fresh["refresh_token"]})
    assert (refused.status, refused.json) == (401, {"error": "invalid_refresh_token"})


def test_the_start_page_names_every_login(simulator: RunningSimulator) -> None:
    page = simulator.get("/").text
    assert all(f"{name}@…" in page for name in KNOWN_LOGINS)
