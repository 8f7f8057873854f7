"""A folder for servers of a test's own: short, and open to the account PostgreSQL runs as under root."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="hs-"))
    if os.geteuid() == 0:
        made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)
