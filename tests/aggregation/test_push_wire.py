"""Bodies on the wire: every encoding, every limit, every kind of damage."""

import gzip
import random
import zlib

import pyarrow as pa
import pytest
from django.test import RequestFactory

from aggregation.push import wire
from healthsvc.kernel.errors import ErrorCode, ServiceError

TEXT = b'{"provider": "manual"}' * 100


def pack(body: bytes, encoding: str) -> bytes:
    if encoding == "zstd":
        return zstd(body)
    return gzip.compress(body, mtime=0) if encoding == "gzip" else zlib.compress(body)


def zstd(body: bytes) -> bytes:
    return pa.Codec("zstd").compress(body, asbytes=True)


def raw_deflate(body: bytes) -> bytes:
    machine = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return machine.compress(body) + machine.flush()


def refused(sent: bytes, encoding: str) -> ErrorCode:
    with pytest.raises(ServiceError) as caught:
        wire.inflate(sent, encoding)
    return caught.value.code


@pytest.mark.parametrize(
    ("encoding", "sent"),
    [
        ("identity", TEXT),
        ("gzip", gzip.compress(TEXT, mtime=0)),
        ("x-gzip", gzip.compress(TEXT[:7], mtime=0) + gzip.compress(TEXT[7:], mtime=0)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
        ("zstd", zstd(TEXT)),
        ("zstd", zstd(TEXT[:7]) + zstd(TEXT[7:])),
    ],
)
def test_an_encoding_is_taken_off(encoding: str, sent: bytes) -> None:
    assert wire.inflate(sent, encoding) == TEXT


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_damage_is_said(encoding: str) -> None:
    whole = pack(TEXT, encoding)
    assert refused(whole[:-5], encoding) is ErrorCode.VALIDATION_FAILED
    assert refused(whole[: len(whole) // 2], encoding) is ErrorCode.VALIDATION_FAILED
    assert refused(b"\x00\x01\x02\x03" + whole, encoding) is ErrorCode.VALIDATION_FAILED


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_a_bomb_is_left_at_the_limit(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "INFLATED_MAXIMUM_BYTES", 3_000_000)
    assert len(wire.inflate(pack(b"a" * 3_000_000, encoding), encoding)) == 3_000_000
    bomb = pack(b"a" * 30_000_000, encoding)
    assert len(bomb) < 100_000
    assert refused(bomb, encoding) is ErrorCode.TOO_LARGE


@pytest.mark.parametrize("member", [b"", b"  "])
def test_members_of_a_body_are_bounded(member: bytes) -> None:
    """Each costs a machine of its own; a body of 10 MB can have half a million empty ones."""
    one = gzip.compress(member, mtime=0)
    assert wire.inflate(one * wire.MEMBERS_MAXIMUM, "gzip") == member * wire.MEMBERS_MAXIMUM
    assert refused(one * (wire.MEMBERS_MAXIMUM + 1), "gzip") is ErrorCode.VALIDATION_FAILED
    assert refused(zlib.compress(member) * (wire.MEMBERS_MAXIMUM + 1), "deflate") is ErrorCode.VALIDATION_FAILED


def test_members_larger_than_a_piece_are_joined() -> None:
    noise = random.Random(0).randbytes(300_000)
    sent = gzip.compress(noise, mtime=0) + gzip.compress(TEXT, mtime=0) + gzip.compress(noise[:70_000], mtime=0)
    assert wire.inflate(sent, "gzip") == noise + TEXT + noise[:70_000]


def test_what_is_read_of_a_member_is_never_the_rest_of_the_body(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows a member is copied by zlib: of a small piece, not of the body."""
    sizes: list[int] = []
    make = zlib.decompressobj

    class Counted:
        def __init__(self, bits: int) -> None:
            self.machine = make(bits)

        def decompress(self, pending: bytes, most: int) -> bytes:
            sizes.append(len(pending))
            return self.machine.decompress(pending, most)

        def __getattr__(self, name: str) -> object:
            return getattr(self.machine, name)

    monkeypatch.setattr(zlib, "decompressobj", Counted)
    noise = random.Random(0).randbytes(1_000_000)
    wire.inflate(gzip.compress(b"", mtime=0) * 60 + gzip.compress(noise, mtime=0), "gzip")
    assert max(sizes) <= 1 << 16
    assert sum(sizes) < 60 * (1 << 16) + 1_100_000


def test_a_body_of_unknown_length_is_asked_for_its_length() -> None:
    """HTTP/2 has no chunked encoding: a body may come without any word of it."""

    def code(protocol: str) -> ErrorCode:
        request = RequestFactory().generic("POST", "/", b"", content_type="application/json", SERVER_PROTOCOL=protocol)
        with pytest.raises(ServiceError) as caught:
            wire.body_take(request)
        return caught.value.code

    assert code("HTTP/2") is ErrorCode.LENGTH_REQUIRED
    assert code("HTTP/1.1") is ErrorCode.VALIDATION_FAILED


def test_what_is_no_json_of_a_known_encoding_is_refused() -> None:
    requests = RequestFactory()

    def detail(content_type: str, encoding: str) -> str:
        request = requests.post("/", TEXT, content_type=content_type, headers={"Content-Encoding": encoding})
        with pytest.raises(ServiceError) as caught:
            wire.body_take(request)
        return str(caught.value.detail)

    def code(content_type: str, encoding: str, body: bytes = TEXT) -> ErrorCode | None:
        request = requests.post("/", body, content_type=content_type, headers={"Content-Encoding": encoding})
        try:
            wire.body_take(request)
        except ServiceError as error:
            return error.code
        return None

    assert code("application/json; charset=utf-8", "") is None
    assert code("application/json", "GZIP", gzip.compress(TEXT, mtime=0)) is None
    assert code("text/csv", "") is ErrorCode.UNSUPPORTED_MEDIA_TYPE
    assert code("application/json", "br") is ErrorCode.UNSUPPORTED_MEDIA_TYPE
    assert "application/json" in detail("text/csv", "")
    assert "gzip, deflate or zstd" in detail("application/json", "br")
    assert code("application/json", "gzip, gzip") is ErrorCode.UNSUPPORTED_MEDIA_TYPE
    assert code("application/json", "", b" \n") is ErrorCode.VALIDATION_FAILED
    assert code("application/json", "gzip", gzip.compress(b"", mtime=0)) is ErrorCode.VALIDATION_FAILED
    assert code("application/json", "", b"a" * (wire.WIRE_MAXIMUM_BYTES + 1)) is ErrorCode.TOO_LARGE
