"""Searching diagnosis codes and checking them, over the whole of ICD-10-CM."""

import re
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.clients import ApiClient
from users.diagnosis_selectors import codes_check, described, diagnoses_search
from users.icd10cm import Exclusion, code_beginning, code_plain, code_written, condition_pattern, note_exclusions
from users.models import Diagnosis, DiagnosisExclusion, DiagnosisRelease
from users.words import words_of

SEARCH = "/v3/insurance/search/diagnosis"
VALIDATE = "/v3/insurance/validate_icd_codes"
NO_WORDS = {"search_words": "", "included_words": ""}


def found(client: ApiClient, text: str) -> list[str]:
    """Codes that a search finds."""
    answer = client.get(SEARCH, {"diagnosis_query": text})
    assert answer.status_code == 200
    return [diagnosis["diagnosis_code"] for diagnosis in answer.json()]


def checked(client: ApiClient, *codes: str) -> dict[str, Any]:
    """What a check says of codes."""
    answer = client.post(VALIDATE, {"codes": list(codes)})
    assert answer.status_code == 200
    body: dict[str, Any] = answer.json()
    return body


def test_a_code_is_answered_with_its_description(api: ApiClient) -> None:
    assert api.get(SEARCH, {"diagnosis_query": "E11.9"}).json() == [
        {"diagnosis_code": "E11.9", "description": "Type 2 diabetes mellitus without complications"}
    ]


@pytest.mark.parametrize("text", ["E11.62", "e11.62", "E1162", " E11.62 "])
def test_codes_are_found_by_their_beginning_with_and_without_dot(api: ApiClient, text: str) -> None:
    assert found(api, text) == ["E11.620", "E11.621", "E11.622", "E11.628"]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("high blood pressure", "I10"),
        ("HYPERTENSION essential", "I10"),
        ("vitamin d defic", "E55.9"),
        ("defic vitam k", "E56.1"),
        ("covid", "U07.1"),
        ("diabetes insip", "E23.2"),
        ("post covid", "U09.9"),
        ("carpal tunnel right", "G56.01"),
        ("Ménière’s right", "H81.01"),
        ("meniere's right", "H81.01"),
    ],
)
def test_every_word_begins_one_of_the_description_or_of_what_it_includes(api: ApiClient, text: str, first: str) -> None:
    assert found(api, text)[0] == first


def test_what_could_be_a_code_and_is_none_is_a_word(api: ApiClient) -> None:
    codes = found(api, "B12")
    assert codes
    assert {code[0] for code in codes} == {"D", "E"}


@pytest.mark.parametrize("text", ["diabetes zebra", "abetes", "E11.999", "Q"])
def test_what_is_not_there_is_not_found(api: ApiClient, text: str) -> None:
    expected = 50 if text == "Q" else 0
    assert len(found(api, text)) == expected


def test_categories_are_not_answered_for_they_cannot_be_claimed(api: ApiClient) -> None:
    assert "E11" not in found(api, "E11")
    assert found(api, "I10") == ["I10"]


@pytest.mark.parametrize("text", ["unspecified", "E", "a", "fracture initial", "E1"])
def test_no_search_answers_more_than_fifty(api: ApiClient, text: str) -> None:
    codes = found(api, text)
    assert len(codes) == len(set(codes)) == 50


@pytest.mark.parametrize("query", [{}, {"diagnosis_query": ""}, {"diagnosis_query": "&|:*()'"}])
def test_a_search_for_nothing_is_refused(api: ApiClient, query: dict[str, str]) -> None:
    assert api.get(SEARCH, query).status_code == 422


def test_signs_of_the_search_language_are_only_signs(api: ApiClient) -> None:
    assert found(api, "cholera & | ! :* ( ' \\ <->") == found(api, "cholera") != []


def test_a_search_is_two_queries_at_most_and_over_indexes(db: None) -> None:
    with CaptureQueriesContext(connection) as captured:
        assert diagnoses_search("D6")
        assert len(captured) == 1
        assert diagnoses_search("B12")
    assert len(captured) == 3
    assert "users_diagnosis_words" in described(["diabetes", "type"]).explain()
    by_code = Diagnosis.objects.filter(is_billable=True, code__gte="E11", code__lt="E11~").order_by("code")
    assert "Index Cond: (((code)::text >= 'E11'::text) AND ((code)::text < 'E11~'::text))" in by_code[:50].explain()


def test_the_whole_code_set_is_there(db: None) -> None:
    assert Diagnosis.objects.count() == 98_186
    assert Diagnosis.objects.filter(is_billable=True).count() == 74_719
    assert DiagnosisExclusion.objects.filter(kind=1).count() + DiagnosisExclusion.objects.filter(kind=2).count() > 8_000


def test_the_code_set_is_loaded_once(db: None) -> None:
    with CaptureQueriesContext(connection) as captured:
        call_command("diagnoses_load")
    assert [query["sql"] for query in captured.captured_queries if "INSERT" in query["sql"]] == []


@pytest.mark.slow
def test_another_release_replaces_the_one_before_whole(db: None) -> None:
    DiagnosisRelease.objects.update(release="an older one")
    Diagnosis.objects.filter(code__lt="B").delete()
    Diagnosis.objects.create(
        code="A999", description="No more", is_billable=True, chapter="1", block="A00-A09", **NO_WORDS
    )
    counts = (Diagnosis.objects.filter(code__gte="B").count(), DiagnosisExclusion.objects.count())
    call_command("diagnoses_load")
    assert not Diagnosis.objects.filter(code="A999").exists()
    assert (Diagnosis.objects.filter(code__gte="B").count(), DiagnosisExclusion.objects.count()) == counts
    assert Diagnosis.objects.count() == 98_186
    assert DiagnosisRelease.objects.get().release != "an older one"


def test_what_empties_the_tables_of_the_applications_leaves_the_code_set(db: None) -> None:
    emptied = connection.introspection.django_table_names()
    codes = {model._meta.db_table for model in (Diagnosis, DiagnosisExclusion, DiagnosisRelease)}
    assert codes & set(emptied) == set()
    assert "users_user" in emptied


def test_codes_that_go_together_are_valid(api: ApiClient) -> None:
    clean = {"valid": True, "errors": [], "violations": [], "warnings": []}
    assert checked(api, "E11.9", "i10", " E785 ", "E11.9") == clean


def test_unknown_codes_and_categories_are_errors(api: ApiClient) -> None:
    assert checked(api, "E11", "E11.99", "Z", "E11.9", "nonsense", "E1.19", "S52.501") == {
        "valid": False,
        "errors": [
            "E11 is a category, not a complete code: use a code below it, such as E11.00.",
            "E11.99 is not an ICD-10-CM code.",
            "Z is not an ICD-10-CM code.",
            "nonsense is not an ICD-10-CM code.",
            "E1.19 is not an ICD-10-CM code.",
            "S52.501 is a category, not a complete code: use a code below it, such as S52.501A.",
        ],
        "violations": [],
        "warnings": [],
    }


@pytest.mark.parametrize(
    ("codes", "violations"),
    [
        (["E11.9", "E10.9"], [("E11.9", "E10.9")]),
        (["E10.9", "E11.9"], [("E10.9", "E11.9")]),
        (["E11.9", "O24.419", "I10"], [("E11.9", "O24.419")]),
        (["I10", "O10.011"], [("I10", "O10.011")]),
        (["B99.8", "E11.9"], []),
        # A note at D72 names D72.824, which is below it.
        (["D72.824"], []),
        # At G02: infectious mononucleosis complicated by meningitis (B27.- with fifth character 2).
        (["G02", "B27.02"], [("G02", "B27.02")]),
        (["G02", "B27.01"], []),
        # At S01: open skull fracture (S02.- with 7th character B).
        (["S01.00XA", "S02.0XXB"], [("S01.00XA", "S02.0XXB")]),
        (["S01.00XA", "S02.0XXA"], []),
    ],
)
def test_codes_that_are_never_claimed_together_are_violations(
    api: ApiClient, codes: list[str], violations: list[tuple[str, str]]
) -> None:
    body = checked(api, *codes)
    assert [{item["code"], item["conflicts_with"]} for item in body["violations"]] == [set(pair) for pair in violations]
    assert [item["type"] for item in body["violations"]] == ["excludes1"] * len(violations)
    assert (body["valid"], body["errors"]) == (not violations, [])


def test_codes_for_different_conditions_are_warnings_only(api: ApiClient) -> None:
    # At block J09-J18, Excludes2: aspiration pneumonia NOS (J69.0).
    warning = {"code": "J15.9", "overlaps_with": "J69.0", "type": "excludes2"}
    assert checked(api, "J69.0", "J15.9") == {"valid": True, "errors": [], "violations": [], "warnings": [warning]}


@pytest.mark.parametrize(
    ("codes", "loc"),
    [
        (None, ["codes"]),
        ([], ["codes"]),
        (["E11.9"] * 101, ["codes"]),
        ("E11.9", ["codes"]),
        ([1], ["codes", "0"]),
        (["E" * 21], ["codes", "0"]),
    ],
)
def test_malformed_lists_of_codes_are_refused(api: ApiClient, codes: Any, loc: list[str]) -> None:
    answer = api.post(VALIDATE, {"codes": codes})
    assert answer.status_code == 422
    assert [[str(part) for part in problem["loc"]] for problem in answer.json()["detail"]] == [["body", *loc]]


def test_a_hundred_codes_are_two_queries(db: None) -> None:
    codes = [code_written(code) for code in Diagnosis.objects.values_list("code", flat=True)[200:300]]
    with CaptureQueriesContext(connection) as captured:
        assert codes_check(codes).valid is False
    assert len(captured) == 2


@pytest.mark.parametrize(
    ("note", "targets"),
    [
        ("gestational diabetes (O24.4-)", [("O244", "O244", "")]),
        ("complications (O10-O11, O13-O16)", [("O10", "O11", ""), ("O13", "O16", "")]),
        ("a (P28.3- - P28.4-)", [("P283", "P284", "")]),
        ("a (Q70.0- -Q70.3-)", [("Q700", "Q703", "")]),
        ("a (I70.2--I70.7-)", [("I702", "I707", "")]),
        ("a (F98.2.-F98.3)", [("F982", "F983", "")]),
        ("some (benign) thing (A00.1) and (B00)", [("A001", "A001", ""), ("B00", "B00", "")]),
        ("a (A00-R94 and T80-T88.6, T88.8)", [("A00", "R94", ""), ("T80", "T886", ""), ("T888", "T888", "")]),
        ("injury to visual cortex S04.04-", [("S0404", "S0404", "")]),
        ("at risk for fall (history of fall) Z91.81", [("Z9181", "Z9181", "")]),
        ("torsion of knee prosthesis (Z89.52-", [("Z8952", "Z8952", "")]),
        ("anemia due to glucose-6-phosphate dehydrogenase (G6PD) deficiency (D55.0)", [("D550", "D550", "")]),
        ("code to syndrome - see Alphabetical Index", []),
        ("wound (S52.- with open fracture 7th character)", []),
    ],
)
def test_notes_are_read(note: str, targets: list[tuple[str, str, str]]) -> None:
    assert list(note_exclusions("X00", 1, note)) == [
        Exclusion("X00", 1, first, last, pattern) for first, last, pattern in targets
    ]


@pytest.mark.parametrize(
    ("condition", "meets", "meets_not"),
    [
        ("final characters -23", ["I69023"], ["I69123A", "I6902"]),
        ("final characters .00 or .01", ["E0800", "E0801"], ["E0810"]),
        (".51-.52", ["E0851", "E0852"], ["E0853"]),
        (".62-", ["E08620"], ["E0863"]),
        ("fifth to sixth characters 51", ["F11151"], ["F11150"]),
        ("5th character .6", ["F1026"], ["F1062"]),
        ("fifth or sixth character 1-4 or 6", ["T3601XA", "T360X6A", "T36041A"], ["T360X5A"]),
        ("7th character B or C", ["S42001B", "S42001C"], ["S42001A"]),
        ("seventh character A", ["S060X0A"], ["S060X0D"]),
    ],
)
def test_conditions_of_notes_are_read(condition: str, meets: list[str], meets_not: list[str]) -> None:
    pattern = condition_pattern(condition)
    assert pattern is not None
    assert [code for code in meets if not re.fullmatch(pattern, code)] == []
    assert [code for code in meets_not if re.fullmatch(pattern, code)] == []


def test_every_target_of_a_note_is_something(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT scope, first, last FROM users_diagnosis_exclusion AS note WHERE NOT EXISTS"
            " (SELECT FROM users_diagnosis WHERE code >= note.first AND code < note.last || '~')"
        )
        assert cursor.fetchall() == []


@pytest.mark.parametrize(
    ("text", "plain", "beginning"),
    [
        ("e11.9", "E119", "E119"),
        ("E119", "E119", "E119"),
        ("S52.501A", "S52501A", "S52501A"),
        ("E11.", "E11", "E11"),
        ("e", None, "E"),
        ("E1", None, "E1"),
        ("E1.19", None, None),
        ("E11..9", None, None),
        ("E11.90000", None, None),
        ("cold", None, None),
        ("É11", None, None),
        ("E١١", None, None),
    ],
)
def test_codes_as_people_write_them(text: str, plain: str | None, beginning: str | None) -> None:
    assert (code_plain(text), code_beginning(text)) == (plain, beginning)


def test_words_are_bare(db: None) -> None:
    assert words_of("Ménière's  disease, COVID-19; and/or STRASSE straße_x 2") == [
        "menieres",
        "disease",
        "covid",
        "19",
        "and",
        "or",
        "strasse",
        "x",
        "2",
    ]
