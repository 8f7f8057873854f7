"""Searching and adding payors."""

import re
import secrets
from itertools import chain, repeat
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from healthsvc.kernel.scope import team_scope
from tests.clients import ApiClient
from tests.factories import Tenant
from tests.users.insuring import payor_body
from tests.users.patients import address_body
from users.constants import PayorProvider
from users.models import Payor, PayorWord
from users.payor_catalogue import platform_payors
from users.payor_selectors import payors_search, words_begun
from users.services import payor_create

SEARCH = "/v3/insurance/search/payor"


def names(client: ApiClient, **query: str) -> list[str]:
    """Names of the payors that a search finds."""
    answer = client.get(SEARCH, query)
    assert answer.status_code == 200
    return [payor["name"] for payor in answer.json()]


def test_the_platforms_payors_are_found_with_every_field(api: ApiClient) -> None:
    assert api.get(SEARCH, {"insurance_name": "aetna"}).json() == [
        {
            "payor_code": "AETNA",
            "name": "Aetna",
            "aliases": ["Aetna Life Insurance Company", "Aetna CVS Health"],
            "org_address": {
                "first_line": "151 Farmington Avenue",
                "second_line": "",
                "city": "Hartford",
                "state": "CT",
                "zip": "06156",
                "zip_code": "06156",
                "country": "US",
                "access_notes": None,
            },
            "source": "platform",
        }
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("kais", ["Kaiser Permanente"]),
        ("PERM Kais", ["Kaiser Permanente"]),
        ("united health", ["UnitedHealthcare"]),
        ("bcbs texas", ["Blue Cross and Blue Shield of Texas"]),
        ("Medica", ["Medica", "Medicaid", "Medical Mutual of Ohio", "Medicare", "Hawaii Medical Service Association"]),
        ("aetna kaiser", []),
        ("ermanente", []),
    ],
)
def test_every_word_begins_one_of_a_name_or_of_an_alias(api: ApiClient, text: str, found: list[str]) -> None:
    assert names(api, insurance_name=text) == found


def test_a_payor_is_added_and_found_by_its_words(api: ApiClient) -> None:
    body = payor_body(provider="stedi", provider_payor_id="ELAN1")
    made = api.post("/v3/payor", body)
    assert made.status_code == 200
    answer = made.json()
    assert re.fullmatch(r"T-[0-9A-Z]{10}", answer["payor_code"])
    assert answer == {
        "payor_code": answer["payor_code"],
        "name": "Élan Mutual Health-Plan",
        "aliases": [],
        "org_address": {**address_body(), "zip_code": "94105"},
        "source": "team",
    }
    for text in ("elan", "Élan", "mut él", "health plan", "PLAN"):
        assert answer in api.get(SEARCH, {"insurance_name": text}).json()
    for text in ("lan", "elan kaiser"):
        assert answer not in api.get(SEARCH, {"insurance_name": text}).json()


def test_the_teams_own_come_before_the_platforms(api: ApiClient) -> None:
    api.post("/v3/payor", payor_body(name="Zebra Medicaid"))
    assert names(api, insurance_name="medica")[:2] == ["Zebra Medicaid", "Medica"]


def test_nobody_else_finds_a_teams_payor(api: ApiClient, other_api: ApiClient, production: Tenant) -> None:
    api.post("/v3/payor", payor_body(provider="stedi", provider_payor_id="ELAN1"))
    for client in (other_api, ApiClient(team_key=production.key)):
        assert names(client, insurance_name="elan") == []
        assert names(client, provider_payor_id="ELAN1") == []
    assert names(api, insurance_name="elan") == ["Élan Mutual Health-Plan"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"provider_payor_id": "61101"}, ["Our Humana", "Humana"]),
        ({"provider": "availity", "provider_payor_id": "61101"}, ["Humana"]),
        ({"provider": "pverify", "provider_payor_id": "61101"}, ["Our Humana"]),
        ({"provider": "pverify"}, ["Our Humana"]),
        ({"provider": "stedi", "insurance_name": "hum"}, ["Humana"]),
        ({"provider_payor_id": "6110"}, []),
        ({"insurance_name": "aetna", "provider_payor_id": "61101"}, []),
        ({"insurance_name": " ", "provider": "", "provider_payor_id": "61101"}, ["Our Humana", "Humana"]),
        ({"insurance_name": " ", "provider_payor_id": " 61101 "}, ["Our Humana", "Humana"]),
    ],
)
def test_everything_that_is_given_has_to_fit(api: ApiClient, query: dict[str, str], found: list[str]) -> None:
    api.post("/v3/payor", payor_body(name="Our Humana", provider="pverify", provider_payor_id="61101"))
    assert names(api, **query) == found


def test_older_clients_search_with_a_body_and_are_told_that_it_ends(api: ApiClient) -> None:
    answer = api.post(SEARCH, {"insurance_name": "humana", "provider": "stedi", "provider_id": "61101"})
    assert answer.status_code == 200
    assert [(payor["code"], payor["name"], payor["source"]) for payor in answer.json()] == [
        ("HUMANA", "Humana", "platform")
    ]
    assert answer["Deprecation"].startswith("@")
    assert "Deprecation" not in api.get(SEARCH, {"insurance_name": "humana"})


@pytest.mark.parametrize("query", [{}, {"insurance_name": " "}, {"insurance_name": "-"}, {"provider": "nobody"}])
def test_a_search_for_nothing_is_refused(api: ApiClient, query: dict[str, str]) -> None:
    assert api.get(SEARCH, query).status_code == 422
    assert api.post(SEARCH, query).status_code == 422


@pytest.mark.parametrize(
    ("values", "loc"),
    [
        ({"name": ""}, ["name"]),
        ({"name": "…"}, ["name"]),
        ({"name": "x" * 151}, ["name"]),
        ({"name": None}, ["name"]),
        ({"address": None}, ["address"]),
        ({"address": {**address_body(), "country": "FR"}}, ["address", "country"]),
        ({"provider": "stedi"}, ["provider_payor_id"]),
        ({"provider_payor_id": "1"}, ["provider"]),
        ({"provider": "nobody", "provider_payor_id": "1"}, ["provider"]),
    ],
)
def test_a_malformed_payor_is_not_added(api: ApiClient, team: Tenant, values: dict[str, Any], loc: list[str]) -> None:
    answer = api.post("/v3/payor", payor_body(**values))
    assert answer.status_code == 422
    assert [problem["loc"] for problem in answer.json()["detail"]] == [["body", *loc]]
    with team_scope(team.context):
        assert (Payor.objects.count(), PayorWord.objects.count()) == (0, 0)


def test_a_name_of_signs_that_unfold_to_many_is_kept_and_found(api: ApiClient) -> None:
    name = "\ufdfb" * 150
    assert api.post("/v3/payor", payor_body(name=name)).status_code == 200
    assert names(api, insurance_name=name) == [name]


def test_a_code_that_is_taken_is_drawn_again(in_team: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = chain(repeat("2", 20), repeat("3", 10))
    monkeypatch.setattr(secrets, "choice", lambda _characters: next(drawn))
    address = platform_payors()["UHC"].address
    made = [payor_create(team=in_team.context, name="Plan", address=address).code for _ in range(2)]
    assert made == ["T-2222222222", "T-3333333333"]


def test_codes_that_never_stop_being_taken_add_nothing(in_team: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "choice", lambda _characters: "2")
    address = platform_payors()["UHC"].address
    payor_create(team=in_team.context, name="Plan", address=address)
    with pytest.raises(Exception, match="users_payor_code_once"):
        payor_create(team=in_team.context, name="Plan", address=address)


def test_a_search_is_one_query_over_an_index_and_bounded(in_team: Tenant) -> None:
    address = platform_payors()["UHC"].address
    for number in range(60):
        payor_create(team=in_team.context, name=f"Plan {number:02} Mutual", address=address)
    with CaptureQueriesContext(connection) as captured:
        found = payors_search(in_team.context, insurance_name="mut plan")
    assert [payor.name for payor in found] == [f"Plan {number:02} Mutual" for number in range(50)]
    assert len(captured) == 1
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    plan = words_begun(in_team.context, "mut").explain()
    assert "users_payor_word_once" in plan
    assert re.search(r"Index Cond: .*word.* >= 'mut'.*word.* < 'mut", plan)


def test_the_file_of_payors_is_as_it_says() -> None:
    payors_known = platform_payors()
    assert len(payors_known) == 60
    assert [code for code in payors_known if not re.fullmatch(r"[A-Z0-9]{2,20}", code)] == []
    called = [payor.name.casefold() for payor in payors_known.values()]
    assert called == sorted(called)
    assert len(set(called)) == len(called)
    ids = [(provider, text) for payor in payors_known.values() for provider, text in payor.provider_ids.items()]
    assert len(set(ids)) == len(ids) == 12
    assert {provider for provider, _ in ids} <= set(PayorProvider)
