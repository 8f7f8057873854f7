"""Numbers that look random and never change: each is a digest of what it is for."""

from hashlib import blake2b


def draw(seed: str, label: str, index: int = 0) -> float:
    """A number in [0, 1), evenly spread, fixed for ever by its arguments."""
    digest = blake2b(f"{seed}|{label}|{index}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def between(low: float, high: float, share: float) -> float:
    """The point at a share of the way from low to high."""
    return low + (high - low) * share


def bell(seed: str, label: str, index: int = 0) -> float:
    """A number in (-1, 1) that is mostly near 0."""
    digest = blake2b(f"{seed}|{label}|{index}".encode(), digest_size=24).digest()
    parts = (int.from_bytes(digest[start : start + 8], "big") for start in (0, 8, 16))
    return sum(parts) / 2**64 / 1.5 - 1


def identifier(seed: str, label: str, index: int = 0) -> int:
    """A positive number of 48 bits that no other arguments share in practice."""
    return int.from_bytes(blake2b(f"{seed}|{label}|{index}".encode(), digest_size=6).digest(), "big") | 1


def hexadecimal(seed: str, label: str, size_bytes: int) -> str:
    """Lower-case hex of a digest of the arguments."""
    return blake2b(f"{seed}|{label}".encode(), digest_size=size_bytes).hexdigest()
