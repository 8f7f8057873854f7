"""The token endpoints: a code works once, refresh tokens rotate, expiry and revocation are obeyed."""

import base64
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.simulator.running import CALLBACK, CLIENT_ID, CLIENT_SECRET, RunningSimulator, challenge_of

VERIFIER = "v" * 64


def is_live(simulator: RunningSimulator, access_token: object, slug: str = "oura") -> bool:
    if slug == "withings":
        answer = simulator.post_form("/withings/v2/sleep", str(access_token), action="getsummary", lastupdate="0")
        return answer.json["status"] == 0
    return simulator.get("/oura/v2/usercollection/personal_info", str(access_token)).status == 200


def by_code(simulator: RunningSimulator, code: str, **fields: str) -> tuple[int, object]:
    asked = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK, **fields}
    answer = simulator.token_request("oura", **asked)
    return answer.status, answer.json.get("error")


def test_a_code_becomes_tokens(simulator: RunningSimulator) -> None:
    tokens = simulator.tokens("oura")
    assert set(tokens) == {"token_type", "access_token", "expires_in", "refresh_token", "scope"}
    assert (tokens["token_type"], tokens["expires_in"]) == ("bearer", 86_400)
    assert tokens["scope"] == "email personal daily heartrate workout"
    assert is_live(simulator, tokens["access_token"])


def test_the_client_may_name_itself_in_a_basic_header(simulator: RunningSimulator) -> None:
    basic = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
    answer = simulator.post_form(
        "/oura/oauth/token",
        basic=basic,
        grant_type="authorization_code",
        code=simulator.code(),
        redirect_uri=CALLBACK,
    )
    assert answer.status == 200
    assert answer.headers["cache-control"] == "no-store"


def test_a_code_used_twice_revokes_what_it_gave(simulator: RunningSimulator) -> None:
    code = simulator.code()
    tokens = simulator.exchange("oura", grant_type="authorization_code", code=code, redirect_uri=CALLBACK)
    assert is_live(simulator, tokens["access_token"])
    assert by_code(simulator, code) == (400, "invalid_grant")
    assert not is_live(simulator, tokens["access_token"])
    refused = simulator.token_request("oura", grant_type="refresh_token", refresh_token=str(tokens["refresh_token"]))
    assert refused.status == 400


def test_of_many_at_once_one_exchange_wins(simulator: RunningSimulator) -> None:
    code = simulator.code()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: by_code(simulator, code), range(8)))
    assert sorted(answers, key=str) == [(200, None), *[(400, "invalid_grant")] * 7]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"code": "guess"}, (400, "invalid_grant")),
        ({"redirect_uri": "http://127.0.0.1:9/other"}, (400, "invalid_grant")),
        ({"client_id": "another"}, (400, "invalid_grant")),
        ({"client_secret": "wrong"}, (401, "invalid_client")),
        ({"client_id": ""}, (401, "invalid_client")),
        ({"grant_type": "password"}, (400, "unsupported_grant_type")),
        ({"code_verifier": VERIFIER}, (400, "invalid_grant")),
    ],
)
def test_a_wrong_exchange_is_refused(
    simulator: RunningSimulator, fields: dict[str, str], expected: tuple[int, str]
) -> None:
    assert by_code(simulator, **{"code": simulator.code(), **fields}) == expected


@pytest.mark.parametrize(("verifier", "status"), [(VERIFIER, 200), ("w" * 64, 400), ("", 400)])
def test_pkce_holds_the_code_to_who_asked(simulator: RunningSimulator, verifier: str, status: int) -> None:
    code = simulator.code(code_challenge=challenge_of(VERIFIER), code_challenge_method="S256")
    assert by_code(simulator, code, code_verifier=verifier)[0] == status


@pytest.mark.parametrize(("slug", "at", "works"), [("oura", "12:09:59", True), ("oura", "12:10:00", False)])
def test_a_code_is_short_lived(simulator: RunningSimulator, slug: str, at: str, works: bool) -> None:
    code = simulator.code(slug)
    simulator.stop_clock(f"2026-11-01T{at}+00:00")
    assert (by_code(simulator, code)[0] == 200) == works


def test_withings_gives_a_code_thirty_seconds(simulator: RunningSimulator) -> None:
    code = simulator.code("withings")
    simulator.stop_clock("2026-11-01T12:00:30+00:00")
    answer = simulator.token_request("withings", grant_type="authorization_code", code=code, redirect_uri=CALLBACK)
    assert (answer.status, answer.json) == (
        200,
        {"status": 503, "body": {}, "error": "Invalid Params: invalid code"},
    )


def test_withings_answers_in_its_envelope(simulator: RunningSimulator) -> None:
    tokens = simulator.tokens("withings")
    assert set(tokens) == {"userid", "access_token", "refresh_token", "expires_in", "scope", "token_type"}
    assert (tokens["expires_in"], tokens["token_type"]) == (10_800, "Bearer")
    assert tokens["scope"] == "user.info,user.metrics,user.activity"
    assert tokens["userid"] == simulator.tokens("withings")["userid"]
    assert tokens["userid"] != simulator.tokens("withings", "bob@example.com")["userid"]
    assert simulator.post_form("/withings/oauth/token").status == 404


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"action": "other"}, "Invalid Params: invalid action"),
        ({"client_secret": "wrong"}, "Invalid Params: invalid client_id/client_secret"),
        ({"grant_type": "other"}, "Invalid Params: invalid grant_type"),
        ({"grant_type": "refresh_token", "refresh_token": "guess"}, "Invalid Params: invalid refresh_token"),
    ],
)
def test_withings_says_errors_under_http_200(simulator: RunningSimulator, fields: dict[str, str], error: str) -> None:
    answer = simulator.token_request("withings", **{"grant_type": "authorization_code", **fields})
    assert (answer.status, answer.json) == (200, {"status": 503, "body": {}, "error": error})


def refreshed(simulator: RunningSimulator, slug: str, tokens: dict[str, object]) -> dict[str, object]:
    return simulator.exchange(slug, grant_type="refresh_token", refresh_token=str(tokens["refresh_token"]))


def test_a_rotated_refresh_token_of_oura_is_dead_at_once(simulator: RunningSimulator) -> None:
    first = simulator.tokens("oura")
    second = refreshed(simulator, "oura", first)
    assert second["refresh_token"] != first["refresh_token"]
    again = simulator.token_request("oura", grant_type="refresh_token", refresh_token=str(first["refresh_token"]))
    assert (again.status, again.json["error"]) == (400, "invalid_grant")
    assert is_live(simulator, second["access_token"])
    assert refreshed(simulator, "oura", second)["scope"] == "email personal daily heartrate workout"


def test_a_rotated_refresh_token_of_withings_lives_eight_hours_more(simulator: RunningSimulator) -> None:
    first = simulator.tokens("withings")
    refreshed(simulator, "withings", first)
    simulator.stop_clock("2026-11-01T19:59:59+00:00")
    refreshed(simulator, "withings", first)
    simulator.stop_clock("2026-11-01T20:00:00+00:00")
    late = simulator.token_request("withings", grant_type="refresh_token", refresh_token=str(first["refresh_token"]))
    assert late.json["error"] == "Invalid Params: invalid refresh_token"


def test_a_vendor_that_does_not_rotate_keeps_the_refresh_token(simulator: RunningSimulator) -> None:
    first = simulator.tokens("strava")
    second = refreshed(simulator, "strava", first)
    assert second["refresh_token"] == first["refresh_token"]
    assert second["access_token"] != first["access_token"]


@pytest.mark.parametrize(
    ("slug", "before", "after"),
    [
        ("oura", "2026-11-02T11:59:59+00:00", "2026-11-02T12:00:00+00:00"),
        ("withings", "2026-11-01T14:59:59+00:00", "2026-11-01T15:00:00+00:00"),
    ],
)
def test_an_access_token_runs_out_and_is_refreshed(
    simulator: RunningSimulator, slug: str, before: str, after: str
) -> None:
    tokens = simulator.tokens(slug)
    simulator.stop_clock(before)
    assert is_live(simulator, tokens["access_token"], slug)
    simulator.stop_clock(after)
    assert not is_live(simulator, tokens["access_token"], slug)
    assert is_live(simulator, refreshed(simulator, slug, tokens)["access_token"], slug)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_oura_revokes_a_grant_by_its_access_token(simulator: RunningSimulator, method: str) -> None:
    tokens, other = simulator.tokens("oura"), simulator.tokens("oura")
    access = str(tokens["access_token"])
    if method == "GET":
        answer = simulator.get("/oura/oauth/revoke", access_token=access)
    else:
        answer = simulator.post_form("/oura/oauth/revoke", access_token=access)
    assert answer.status == 200
    assert not is_live(simulator, access)
    dead = simulator.token_request("oura", grant_type="refresh_token", refresh_token=str(tokens["refresh_token"]))
    assert dead.json["error"] == "invalid_grant"
    assert is_live(simulator, other["access_token"])
    assert simulator.get("/oura/oauth/revoke", access_token="unknown").status == 200


def test_other_vendors_revoke_as_rfc_7009_has_it(simulator: RunningSimulator) -> None:
    tokens = simulator.tokens("strava")
    client = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
    assert simulator.post_form("/strava/oauth/revoke", token=str(tokens["refresh_token"])).status == 401
    refreshed(simulator, "strava", tokens)
    answer = simulator.post_form("/strava/oauth/revoke", token=str(tokens["refresh_token"]), **client)
    assert answer.status == 200
    dead = simulator.token_request("strava", grant_type="refresh_token", refresh_token=str(tokens["refresh_token"]))
    assert dead.status == 400


def test_a_token_opens_its_own_vendor_only(simulator: RunningSimulator) -> None:
    assert not is_live(simulator, simulator.access_token("withings"), "oura")
    assert not is_live(simulator, simulator.access_token("oura"), "withings")
    assert not is_live(simulator, simulator.tokens("oura")["refresh_token"])
    assert not is_live(simulator, "")
