"""Holds one child process: ends it when asked, and ends it when whoever started the guard is gone.

Run as a file by a bare interpreter (`python -I -S guard.py '<json>' program arguments…`); imports nothing of ours.
The starter keeps the writing end of the lifeline pipe; when that closes, even by kill -9, the child is stopped.
"""

import contextlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

_PR_SET_PDEATHSIG = 1
#: Given to what is left of the child's group between the polite and the hard end.
_KILL_WAIT_SECONDS = 5.0


def main() -> int:
    orders = json.loads(sys.argv[1])
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    die_with_parent = _parent_death_call()
    child = os.fork()
    if child == 0:
        os.close(wake_read)
        os.close(wake_write)
        _become(orders, sys.argv[2:], die_with_parent)
    with contextlib.suppress(OSError):
        os.setpgid(child, child)
    record = Path(orders["record"])
    kept = {name: orders[name] for name in ("stop_signal", "grace_seconds")}
    identity = {"group": child, "started": started(child), "boot": boot_id()}
    record.write_text(json.dumps({**identity, **kept}), encoding="utf-8")
    status = _hold(child, orders, wake_read)
    _end_group(child)
    record.unlink(missing_ok=True)
    return status


def started(pid: int) -> str:
    """When the kernel says the process began, in its own ticks; empty where there is no /proc."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except OSError:
        return ""


def boot_id() -> str:
    """Start times repeat after a reboot; this tells one boot from the next."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _become(orders: Mapping[str, object], command: list[str], die_with_parent: Callable[[int], object]) -> NoReturn:
    """In the fork: own group, unprivileged account if one is named, die with the guard, run the program."""
    try:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.umask(0o077)
        account = orders["account"]
        if isinstance(account, list):
            os.setgroups([])
            os.setgid(account[1])
            os.setuid(account[0])
        die_with_parent(int(str(orders["death_signal"])))  # after setuid, which clears it
        os.execv(command[0], command)  # noqa: S606 - replacing this fork by the program is the point
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def _parent_death_call() -> Callable[[int], object]:
    """Linux only: the call that sets which signal the caller gets when the guard itself is killed.

    Fetched while we may still read the interpreter's files: it may lie in a home that the account cannot enter.
    """
    if not sys.platform.startswith("linux"):
        return lambda _: None
    try:
        import ctypes
    except ImportError:  # an interpreter built without it; the next start then ends what is left
        return lambda _: None
    prctl = ctypes.CDLL(None).prctl
    return lambda death_signal: prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0)


def _hold(child: int, orders: Mapping[str, object], wake_read: int) -> int:
    """Wait for the child; a signal or the end of the lifeline stops it, a second one at once. Returns its status."""
    lifeline = int(str(orders["lifeline"]))
    watched = [wake_read, lifeline]
    deadline: float | None = None
    while True:
        timeout = None if deadline is None else max(0.0, deadline - time.monotonic())
        readable, _, _ = select.select(watched, [], [], timeout)
        stops = 0
        if wake_read in readable:
            stops = sum(number != signal.SIGCHLD for number in os.read(wake_read, 512))
        if lifeline in readable:
            watched.remove(lifeline)
            stops += deadline is None
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        if deadline is None and stops:
            deadline = time.monotonic() + float(str(orders["grace_seconds"]))
            os.kill(child, int(str(orders["stop_signal"])))
        elif deadline is not None and (stops or time.monotonic() >= deadline):
            os.kill(child, int(str(orders["hard_signal"])))
            orders = {**orders, "hard_signal": int(signal.SIGKILL)}
            deadline = time.monotonic() + _KILL_WAIT_SECONDS


def _end_group(group: int) -> None:
    """The child is gone; its own children must not outlive it, or they would hold its port."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    result = main()
    sys.exit(result if result >= 0 else 128 - result)
