"""Makes many requests at once on an event loop of its own thread, so that the pump's thread keeps the database."""

import asyncio
import queue
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Final, Self
from uuid import UUID

import structlog

from healthsvc.kernel import clock
from healthsvc.kernel.http import HttpReply, OutboundError, OutboundFailure, OutboundSession
from webhooks.constants import ANSWER_READ_BYTES, CLAIM_ROWS
from webhooks.excerpts import answer_excerpt
from webhooks.records import Outcome, Outgoing
from webhooks.retries import STATUSES_WITH_RETRY_AFTER, retry_after_read
from webhooks.signatures import signed_headers

log = structlog.get_logger(__name__)

_START_SECONDS: Final = 10


class Sender:
    """Submit requests, collect outcomes. Left early, it drops what is in flight: the leases bring it back."""

    def __init__(self, *, timeout_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds
        self._outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._by_endpoint: Counter[UUID] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), name="webhooks-sender", daemon=True)

    def __enter__(self) -> Self:
        """Start the loop."""
        self._thread.start()
        if not self._ready.wait(_START_SECONDS):
            raise RuntimeError("The sender's event loop did not start.")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the loop."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    @property
    def in_flight(self) -> int:
        """Requests whose outcome was not collected yet."""
        return self._by_endpoint.total()

    @property
    def by_endpoint(self) -> Mapping[UUID, int]:
        """The same by endpoint; those that have none are not among them."""
        return self._by_endpoint

    def submit(self, requests: Sequence[Outgoing]) -> None:
        """Start requests."""
        self._by_endpoint.update(outgoing.claim.endpoint_id for outgoing in requests)
        self._loop.call_soon_threadsafe(self._start, requests)

    def collect(self, *, wait_seconds: float, gather_seconds: float = 0, most: int = CLAIM_ROWS) -> list[Outcome]:
        """Every outcome there is, at most `most`.

        Waits for the first at most `wait_seconds`, and then `gather_seconds` for others, so that they are written
        together.
        """
        found: list[Outcome] = []
        until = time.monotonic() + wait_seconds
        try:
            while len(found) < most:
                left = until - time.monotonic()
                found.append(self._outcomes.get(timeout=left) if left > 0 else self._outcomes.get_nowait())
                if len(found) == 1:
                    until = time.monotonic() + gather_seconds
        except queue.Empty:
            pass  # that is all there is
        self._by_endpoint.subtract(outcome.claim.endpoint_id for outcome in found)
        self._by_endpoint = +self._by_endpoint
        return found

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        async with OutboundSession() as self._session:
            self._ready.set()
            await self._stop.wait()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, requests: Sequence[Outgoing]) -> None:
        for outgoing in requests:
            task = self._loop.create_task(self._send(outgoing))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _send(self, outgoing: Outgoing) -> None:
        attempted_at, started = clock.now(), time.perf_counter()
        reply: HttpReply | None = None
        error: OutboundFailure | None = None
        headers = signed_headers(outgoing.keys, outgoing.message_id, int(attempted_at.timestamp()), outgoing.body)
        try:
            reply = await self._session.send(
                "POST",
                outgoing.target,
                timeout_seconds=self._timeout_seconds,
                headers=headers,
                body=outgoing.body,
                maximum_bytes=ANSWER_READ_BYTES,
                cut=True,
            )
        except OutboundError as failed:
            error = failed.kind
        except Exception as failed:
            log.error("delivery_failed_oddly", endpoint_id=str(outgoing.claim.endpoint_id), exc_info=failed)
            error = OutboundFailure.CONNECTION
        outcome = Outcome(
            claim=outgoing.claim,
            attempted_at=attempted_at,
            duration_milliseconds=round((time.perf_counter() - started) * 1000),
            status_code=reply.status if reply else None,
            error=error,
            retry_after_seconds=None,
            answer_excerpt=None,
        )
        # Exactly one outcome a delivery, whatever a stranger's reply holds: the pump waits for each.
        self._outcomes.put(_with_reply(outcome, reply) if reply else outcome)


def _with_reply(outcome: Outcome, reply: HttpReply) -> Outcome:
    """What the reply says beyond its status; a reply that can't be read adds nothing."""
    try:
        return replace(
            outcome,
            retry_after_seconds=_retry_after(reply),
            answer_excerpt=None if 200 <= reply.status < 300 else answer_excerpt(reply.body),
        )
    except Exception as failed:
        log.error("reply_unreadable", endpoint_id=str(outcome.claim.endpoint_id), exc_info=failed)
        return outcome


def _retry_after(reply: HttpReply) -> int | None:
    if reply.status not in STATUSES_WITH_RETRY_AFTER:
        return None
    return retry_after_read(reply.headers.get("Retry-After", ""), clock.now())
