"""Runs programs as one foreground tree: merged logs, restarts with back-off, and an orderly end."""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from healthsvc.runtime.backoff import Backoff
from healthsvc.runtime.console import Console
from healthsvc.runtime.processes import Guarded, Program

_TICK_SECONDS = 0.25
_READ_BYTES = 65_536
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequestedError(Exception):
    """Ctrl-C or a signal came while something was being waited for."""


class StepFailedError(Exception):
    """A one-time program, or the first start of a server, failed; the log says why."""


@dataclass(slots=True)
class _Child:
    """One supervised program over all its lives."""

    program: Program
    tier: int
    guarded: Guarded | None = None
    began: float = 0.0
    backoff: Backoff = field(default_factory=Backoff)
    start_again_at: float | None = None
    once: bool = False
    exit_code: int | None = None


class Supervisor:
    """Single-threaded. `watch_signals` wraps everything that may be interrupted.

    Programs of a higher tier are stopped before those of a lower one, all of one tier together.
    """

    def __init__(self, console: Console, records: Path) -> None:
        self._console = console
        self._records = records
        self._children: dict[str, _Child] = {}
        self._selector = selectors.DefaultSelector()
        self._stop_requests = 0
        self._stopping = False

    @contextlib.contextmanager
    def watch_signals(self) -> Iterator[None]:
        """SIGINT, SIGTERM and SIGHUP ask for the end; asked again while stopping, the rest is killed at once."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)
        before = {number: signal.signal(number, self._on_signal) for number in _STOP_SIGNALS}
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        self._selector.register(reading, selectors.EVENT_READ, None)
        try:
            yield
        finally:
            self._selector.unregister(reading)
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(reading)
            os.close(writing)

    def add(self, program: Program, *, tier: int) -> None:
        """Start a program and keep it running from now on."""
        child = _Child(program, tier)
        self._children[program.name] = child
        self._start(child)

    def run_once(self, program: Program, *, tier: int) -> None:
        """Run a program to its end. Raises StepFailedError when it fails, StopRequestedError when interrupted."""
        child = _Child(program, tier, once=True)
        self._children[program.name] = child
        self._start(child)
        while child.exit_code is None:
            self.pump()
        del self._children[program.name]
        if self._stop_requests:
            raise StopRequestedError
        if child.exit_code != 0:
            raise StepFailedError(f"{program.name} failed with exit code {child.exit_code}")

    def wait_for(self, ready: Callable[[], bool], *, what: str, seconds: float, needs: str = "") -> None:
        """Pump until `ready`. Raises StepFailedError after `seconds`, or as soon as the program `needs` has ended."""
        began = told = time.monotonic()
        while not ready():
            now = time.monotonic()
            child = self._children.get(needs)
            if now - began > seconds or (child is not None and child.guarded is None):
                raise StepFailedError(f"{what} did not become ready")
            if now - told > 10:
                told = now
                self._console.say(f"{what} is not ready after {now - began:.0f} s; still waiting")
            self.pump(0.05)

    def run(self) -> None:
        """Supervise until asked to stop."""
        with contextlib.suppress(StopRequestedError):
            while True:
                self.pump()

    def stop_all(self) -> None:
        """Stop everything, tier by tier. A second request while this runs makes it short."""
        self._stopping = True
        for tier in sorted({child.tier for child in self._children.values()}, reverse=True):
            members = [child for child in self._children.values() if child.tier == tier and child.guarded]
            if members:
                self._console.say("stopping " + ", ".join(child.program.name for child in members))
            for child in members:
                self._ask(child)
            hurried = self._stop_requests
            while any(child.guarded for child in members):
                self.pump()
                if self._stop_requests > hurried:
                    hurried = self._stop_requests
                    for child in members:
                        self._ask(child)

    def pump(self, seconds: float = _TICK_SECONDS) -> None:
        """Pass logs on, notice ends and signals, start what is due. Raises StopRequestedError."""
        for key, _ in self._selector.select(seconds):
            if key.data is None:
                with contextlib.suppress(BlockingIOError):
                    os.read(key.fd, 512)
            else:
                self._read(key.data)
        for child in list(self._children.values()):
            self._look_after(child)
        if self._stop_requests and not self._stopping:
            raise StopRequestedError

    def _look_after(self, child: _Child) -> None:
        if child.guarded is not None:
            code = child.guarded.exit_code()
            if code is not None:
                self._ended(child, code)
        elif child.start_again_at is not None and time.monotonic() >= child.start_again_at and not self._stopping:
            self._start(child)

    def _start(self, child: _Child) -> None:
        child.start_again_at = None
        child.began = time.monotonic()
        try:
            guarded = Guarded(child.program, records=self._records, output=subprocess.PIPE)
        except (OSError, RuntimeError) as error:
            self._console.say(str(error), child.program.name)
            self._plan(child, 1, "could not be started")
            return
        child.guarded = guarded
        os.set_blocking(guarded.output, False)
        self._selector.register(guarded.output, selectors.EVENT_READ, child)

    def _ended(self, child: _Child, code: int) -> None:
        if child.guarded is None:
            return
        while self._read(child):
            pass
        self._forget_output(child.guarded)
        self._console.finish(child.program.name)
        child.guarded.close()
        child.guarded = None
        self._plan(child, code, f"ended with exit code {code}")

    def _plan(self, child: _Child, code: int, what: str) -> None:
        child.exit_code = code
        if child.once or self._stopping:
            return
        lived = time.monotonic() - child.began
        child.backoff = child.backoff.ended(lived)
        wait = child.backoff.wait_seconds
        child.start_again_at = time.monotonic() + wait
        self._console.say(f"{child.program.name} {what} after {lived:.0f} s; starting it again in {wait:.0f} s")

    def _read(self, child: _Child) -> bool:
        """Pass on what is there now. False when there was nothing, or the pipe is at its end and was let go."""
        if child.guarded is None:
            return False
        with contextlib.suppress(BlockingIOError):
            data = os.read(child.guarded.output, _READ_BYTES)
            if data:
                self._console.feed(child.program.name, data)
                return True
            self._forget_output(child.guarded)
        return False

    def _forget_output(self, guarded: Guarded) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(guarded.output)

    def _ask(self, child: _Child) -> None:
        if child.guarded is not None:
            child.guarded.ask_to_stop()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._stop_requests += 1
