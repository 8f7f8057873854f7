"""Where embedded servers keep their files, and which account they run as."""

import contextlib
import hashlib
import os
import pwd
import re
import stat
import subprocess
import tempfile
from pathlib import Path

from healthsvc.runtime.processes import Account

#: Linux allows 107 bytes in a socket address, macOS 103; one limit for both.
SOCKET_PATH_BYTES = 103
#: PostgreSQL reads its socket folders as a comma-separated list and URLs give other characters a meaning.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._+-]+")
_PRIVATE = 0o700
#: Others may pass through, not list: an unprivileged server has to reach its own folder inside.
_PASSABLE = 0o711


class LocationError(RuntimeError):
    """A folder or an account is not usable; the message says which and what to do."""


def digest_of(folder: Path) -> str:
    """A short name for a folder, the same on every start."""
    return hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]


def socket_folder(preferred: Path, socket_name: str, owner: Account | None = None) -> Path:
    """A private folder for `socket_name`: `preferred` when the path is plain and short, else one in the temp folder."""
    path = preferred / socket_name
    if len(os.fsencode(path)) <= SOCKET_PATH_BYTES and _PLAIN_PATH.fullmatch(str(path)):
        return private_folder(preferred, owner)
    uid = owner.uid if owner else os.geteuid()
    for root in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 - the last resort when TMPDIR itself is too long
        fallback = Path(root) / f"healthsvc-{uid}-{digest_of(preferred)}"
        if len(os.fsencode(fallback / socket_name)) <= SOCKET_PATH_BYTES and _PLAIN_PATH.fullmatch(str(fallback)):
            return private_folder(fallback, owner)
    raise LocationError(f"No folder for the socket {socket_name} has a path under {SOCKET_PATH_BYTES} bytes.")


def give_up_socket_folder(folder: Path, preferred: Path) -> None:
    """Remove the folder in the temp folder that `socket_folder` chose, once no socket is in it."""
    if folder != preferred:
        with contextlib.suppress(OSError):
            folder.rmdir()


def private_folder(folder: Path, owner: Account | None = None) -> Path:
    """Make `folder`, or check that it is a real folder of the right owner; only that owner may enter it.

    Raises LocationError for a link or somebody else's folder, which a shared temp folder could hold.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=_PRIVATE)
        if owner:
            os.chown(folder, owner.uid, owner.gid)
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode):
        raise LocationError(f"{folder} is not a folder.")
    if state.st_uid != (owner.uid if owner else os.geteuid()):
        name = owner.name if owner else f"uid {os.geteuid()}"
        raise LocationError(f"{folder} belongs to uid {state.st_uid}, not to {name}. Remove it or use another folder.")
    folder.chmod(_PRIVATE)
    return folder


def data_folder(folder: Path) -> Path:
    """Make the data folder where it is missing; one that is there keeps its permissions."""
    if not folder.is_dir():
        folder.mkdir(parents=True)
        folder.chmod(_PASSABLE if os.geteuid() == 0 else _PRIVATE)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise LocationError(f"HEALTHSVC_DATA_DIR={folder} cannot be written by this account.")
    return folder


def passable_folder(folder: Path) -> Path:
    """A folder of ours that other accounts may pass through."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(_PASSABLE)
    return folder


def server_account(wanted: str) -> Account | None:
    """The account PostgreSQL runs as: our own (None) unless we are root, which PostgreSQL refuses.

    As root: `wanted` when given, else an existing account `postgres`, else `nobody`. None is ever created.
    """
    if os.geteuid() != 0:
        return None
    for name in [wanted] if wanted else ["postgres", "nobody"]:
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            if entry.pw_uid == 0:
                raise LocationError(f"HEALTHSVC_POSTGRES_ACCOUNT={name} is root; PostgreSQL refuses to run as root.")
            return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid)
    named = f"HEALTHSVC_POSTGRES_ACCOUNT={wanted} does" if wanted else "The accounts postgres and nobody do"
    raise LocationError(f"{named} not exist; set HEALTHSVC_POSTGRES_ACCOUNT to an unprivileged account.")


def reachable(path: Path, account: Account | None) -> bool:
    """Whether the account may read and execute (for a folder: list and enter) `path`.

    The kernel is asked as that account: every parent, access lists and mounts count, not only permission bits.
    """
    if account is None:
        return os.access(path, os.R_OK | os.X_OK)
    test = subprocess.run(
        ["/bin/sh", "-c", 'test -r "$1" && test -x "$1"', "sh", str(path)],
        user=account.uid,
        group=account.gid,
        extra_groups=[],
        cwd="/",
        check=False,
    )
    return test.returncode == 0
