"""Reading a file's worth of rows as they were at one moment, whatever is written meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import connection, transaction

_FROM_NOW_ON: Final = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"


@contextmanager
def one_moment() -> Iterator[None]:
    """Inside, every read sees the database as at the first one, and nothing can be written.

    In a caller's transaction it is that one which says what is seen.
    """
    is_outermost = not connection.in_atomic_block
    with transaction.atomic():
        if is_outermost:
            with connection.cursor() as cursor:
                cursor.execute(_FROM_NOW_ON)
        yield
