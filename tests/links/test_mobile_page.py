"""docs/mobile.md: its commands work, one after another, and its numbers are the code's."""

import re
import shlex
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import urlsplit

import orjson

from links import constants
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.events import event_types_of

PAGE = (Path(__file__).parents[2] / "docs" / "mobile.md").read_text()
COMMANDS = [
    command
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for command in re.split(r"\n(?=curl )", block.strip())
]


def run(command: str, known: dict[str, str]) -> tuple[int, dict[str, Any]]:
    """Status and body of a curl command, carried out by the test's client."""
    words = [Template(word).substitute(known) for word in shlex.split(command.replace("\\\n", " "))]
    assert words[:2] == ["curl", "-s"]
    client, body, method, address = ApiClient(), None, "GET", ""
    left = iter(words[2:])
    for word in left:
        if word == "-H":
            name, _, value = next(left).partition(": ")
            client.headers[name] = value
        elif word == "-d":
            body, method = orjson.loads(next(left)), "POST"
        elif word == "-X":
            method = next(left)
        else:
            address = word
    client.headers.pop("Content-Type", None)
    parts = urlsplit(address)
    answer = client.request(method, f"{parts.path}?{parts.query}" if parts.query else parts.path, json=body)
    return answer.status_code, answer.json()


def test_the_commands_work_one_after_another(team: Tenant) -> None:
    user = user_make(team)
    known = {"BASE": "http://localhost:8000", "KEY": team.key, "USER_ID": str(user.id)}
    statuses = []
    for command in COMMANDS:
        status, body = run(command, known)
        statuses.append(status)
        known |= {name.upper(): value for name, value in body.items() if isinstance(value, str)}
    assert statuses == [200] * 12
    assert event_types_of(team) == [
        "provider.connection.created",
        "historical.data.heartrate.created",
        "historical.data.steps.created",
    ]


def test_the_arithmetic_of_guesses_is_that_of_the_limits() -> None:
    assert constants.GUESS_WINDOW_SECONDS == 3600
    assert f"**{constants.GUESSES_OF_A_NETWORK} an hour**" in PAGE
    assert f"**{constants.GUESSES_OF_A_BEGINNING} an hour**" in PAGE
    guesses_a_year = constants.GUESSES_OF_A_BEGINNING * 24 * 365
    assert f"{constants.GUESSES_OF_A_BEGINNING} · 24 · 365 = {guesses_a_year:,}" in PAGE
    for codes in (1, 10, 100, 1_000):
        percent = guesses_a_year * codes / 2**32 * 100
        assert f"| {codes:,} | {percent:.1g} % |" in PAGE


def test_the_spans_are_those_of_the_code() -> None:
    assert (constants.ACCESS_TOKEN_SECONDS, constants.SIGN_IN_TOKEN_SECONDS, constants.LINK_CODE_SECONDS) == (3600,) * 3
    assert constants.LINK_CODE_SECONDS_MAXIMUM == 7 * 86_400
    assert f"within {constants.REFRESH_AGAIN_SECONDS} seconds" in PAGE
    assert f'"refresh_expires_in": {constants.REFRESH_TOKEN_SECONDS}' in PAGE
    assert constants.REFRESH_USED_KEPT_SECONDS == 30 * 86_400
