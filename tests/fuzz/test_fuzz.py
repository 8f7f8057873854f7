"""Every operation of both documents, whatever is sent: no 5xx, and nothing that its document does not say."""

from typing import Final

import pytest

from tests.documents import document, document_path
from tests.fuzz.cast import Cast
from tests.fuzz.sending import EXPECTED, Amount, operation_problems, service_operations
from tests.invariants.test_routes import ROUTES, Route

#: What is read in so many kinds by the same few lines is tried less.
SERIES: Final = Amount(random=2, boundaries=3)
OTHERS: Final = Amount(random=5, boundaries=9)
#: What the cast has none of, each with its reason.
NOT_IN_THE_CAST: Final = {
    "GET /v2/user/<user_id>/device/<device_id>": "a device is told of by a vendor's own list",
}


@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_an_operation_answers_as_its_document_says(cast: Cast, route: Route) -> None:
    operation = service_operations(route.urlconf)[document_path(route.route)][route.method]
    found = operation_problems(
        operation,
        headers=cast.headers(route.urlconf),
        known=cast.known[route.urlconf],
        amount=SERIES if "/timeseries/" in operation.path else OTHERS,
    )
    assert not found, "\n\n".join(found.values())


@pytest.mark.parametrize(
    "route", [route for route in ROUTES if route.method == "GET" and "timeseries/<user_id>" not in route.route], ids=str
)
def test_what_is_led_to_is_there(cast: Cast, route: Route) -> None:
    operation = service_operations(route.urlconf)[document_path(route.route)]["GET"]
    known = cast.known[route.urlconf]
    asked = {parameter.name: "2026-03-01" for parameter in operation.query if parameter.is_required}
    case = operation.Case(
        path_parameters={
            one.name: known.get(one.name, "00000000-0000-4000-8000-000000000000") for one in operation.path_parameters
        },
        query={**asked, **{name: known[name] for name in asked if name in known}},
    )
    status = case.call(headers=cast.headers(route.urlconf)).status_code
    assert (status == 404) == (str(route) in NOT_IN_THE_CAST), status


def test_what_is_expected_to_fail_is_documented() -> None:
    documented = {
        (f"{method.upper()} {path}", int(status))
        for route in {route.urlconf for route in ROUTES}
        for path, methods in document(route)["paths"].items()
        for method, operation in methods.items()
        for status in operation["responses"]
    }
    assert set(EXPECTED) <= documented
