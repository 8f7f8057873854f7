"""The rule for the names of organisations and teams."""

from healthsvc.kernel.errors import Problem, invalid
from management.constants import NAME_PATTERN


def name_check(name: str) -> None:
    """ServiceError 422 for a name that no organisation or team may have."""
    if not name.strip() or not NAME_PATTERN.fullmatch(name):
        msg = "1 to 80 letters, digits, spaces and ( ) , / : ' | & _ - are allowed."
        raise invalid([Problem(("body", "name"), msg, "string_pattern_mismatch")])
