"""Our signatures against the published library and vector, and our verification."""

import base64
import time

import pytest
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from webhooks.signatures import Verdict, secret_key, secret_make, signature, signed_headers, verdict

#: The example of the Standard Webhooks specification.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_published_vector() -> None:
    assert signature([secret_key(SECRET)], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, BODY) == SIGNATURE


#: A signature of something else, as the published tests of the specification have it.
STRANGER = "Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Verdict.VERIFIED),
        ({"webhook-id": ""}, Verdict.HEADERS_MISSING),
        ({"webhook-timestamp": ""}, Verdict.HEADERS_MISSING),
        ({"webhook-signature": ""}, Verdict.HEADERS_MISSING),
        ({"webhook-signature": f"v1,{STRANGER}"}, Verdict.SIGNATURE_WRONG),
        ({"webhook-signature": f"v1,{STRANGER} v2,{STRANGER} {SIGNATURE} v1,{STRANGER}"}, Verdict.VERIFIED),
        ({"webhook-signature": SIGNATURE.replace("v1,", "v2,")}, Verdict.SIGNATURE_WRONG),
        ({"webhook-signature": f"{SIGNATURE},{SIGNATURE}"}, Verdict.SIGNATURE_WRONG),
        ({"webhook-timestamp": "946684800"}, Verdict.TIMESTAMP_REFUSED),
    ],
)
def test_the_published_cases_of_verification(changes: dict[str, str], expected: Verdict) -> None:
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": SIGNATURE,
    }
    assert verdict(secret_key(SECRET), {**headers, **changes}, BODY, 1614265330) is expected


def test_both_families_of_headers_carry_the_same() -> None:
    headers = signed_headers([secret_key(SECRET)], "msg_1", 1614265330, BODY)
    assert sorted(headers) == [
        "svix-id", "svix-signature", "svix-timestamp", "webhook-id", "webhook-signature", "webhook-timestamp",
    ]  # fmt: skip
    assert all(headers[f"svix-{name}"] == headers[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))


def test_the_published_library_verifies_ours_under_either_secret() -> None:
    first, second, stranger = secret_make(), secret_make(), secret_make()
    body = '{"name": "Zoë"}'.encode()
    headers = signed_headers([secret_key(first), secret_key(second)], "msg_1", int(time.time()), body)
    assert Webhook(first).verify(body, headers) == Webhook(second).verify(body, headers) == {"name": "Zoë"}
    with pytest.raises(WebhookVerificationError):
        Webhook(stranger).verify(body, headers)


def test_ours_verifies_and_says_what_is_wrong() -> None:
    key = secret_key(SECRET)
    headers = signed_headers([secret_key(secret_make()), key], "msg_1", 1_000_000, BODY)
    assert verdict(key, headers, BODY, 1_000_000 + 300) is Verdict.VERIFIED
    only_svix = {name: value for name, value in headers.items() if name.startswith("svix-")}
    assert verdict(key, only_svix, BODY, 1_000_000) is Verdict.VERIFIED
    assert verdict(key, headers, BODY + b" ", 1_000_000) is Verdict.SIGNATURE_WRONG
    assert verdict(secret_key(secret_make()), headers, BODY, 1_000_000) is Verdict.SIGNATURE_WRONG
    assert verdict(key, headers, BODY, 1_000_000 + 301) is Verdict.TIMESTAMP_REFUSED
    assert verdict(key, headers, BODY, 1_000_000 - 301) is Verdict.TIMESTAMP_REFUSED
    assert verdict(key, {**headers, "webhook-timestamp": "now"}, BODY, 1_000_000) is Verdict.TIMESTAMP_REFUSED
    assert verdict(key, {**headers, "webhook-id": "msg_2"}, BODY, 1_000_000) is Verdict.SIGNATURE_WRONG
    assert verdict(key, {}, BODY, 1_000_000) is Verdict.HEADERS_MISSING


def test_a_new_secret_has_256_bits() -> None:
    assert len(secret_key(secret_make())) == 32
    assert secret_make() != secret_make()


@pytest.mark.parametrize("size", [24, 64])
def test_secrets_of_allowed_sizes(size: int) -> None:
    assert secret_key("whsec_" + base64.b64encode(bytes(size)).decode()) == bytes(size)


@pytest.mark.parametrize(
    "text",
    ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!!!!", "whsec_é"]
    + ["whsec_" + base64.b64encode(bytes(size)).decode() for size in (23, 65)],
)
def test_other_texts_are_no_secrets(text: str) -> None:
    with pytest.raises(ValueError, match="secret"):
        secret_key(text)
