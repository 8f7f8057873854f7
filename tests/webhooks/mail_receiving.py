"""A mail server on a loopback port that keeps what it is handed, and refuses what a test says."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage


@dataclass(frozen=True, slots=True)
class Handed:
    """One letter that was taken: from whom, to whom, and its text."""

    sender: str
    to: tuple[str, ...]
    message: EmailMessage


@dataclass(slots=True)
class MailBox:
    """`refusals` are answers to an address instead of taking it; `answers` are used up by the letters, then 250."""

    port: int = 0
    letters: list[Handed] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)
    answers: list[str] = field(default_factory=list)
    #: What EHLO offers besides.
    extensions: tuple[str, ...] = ()
    #: Hang up in answer to this command.
    hangs_up_at: str = ""


class _Conversation(socketserver.StreamRequestHandler):
    """The least of the protocol that a sender needs."""

    def handle(self) -> None:
        box: MailBox = self.server.box  # type: ignore[attr-defined]
        self._say("220 loopback")
        sender, to = "", list[str]()
        while line := self.rfile.readline().decode().strip():
            verb, _, rest = line.partition(" ")
            box.commands.append(verb.upper())
            if verb.upper() == box.hangs_up_at:
                return
            match verb.upper():
                case "EHLO":
                    said = ["loopback", *box.extensions]
                    for word in said[:-1]:
                        self._say(f"250-{word}")
                    self._say(f"250 {said[-1]}")
                case "MAIL":
                    sender, to = _address(rest), []
                    self._say("250 ok")
                case "RCPT":
                    refused = box.refusals.get(_address(rest))
                    to += [] if refused else [_address(rest)]
                    self._say(refused or "250 ok")
                case "DATA":
                    self._say("354 go on")
                    message = self._text()
                    answer = box.answers.pop(0) if box.answers else "250 taken"
                    if answer.startswith("250"):
                        box.letters.append(Handed(sender, tuple(to), message))
                    self._say(answer)
                case "AUTH":
                    box.commands.append(rest)
                    self._say("235 welcome")
                case "QUIT":
                    self._say("221 bye")
                    return
                case _:
                    self._say("250 ok")

    def _text(self) -> EmailMessage:
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        return message_from_bytes(b"".join(lines), policy=policy.default)

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


def _address(rest: str) -> str:
    return rest.partition("<")[2].partition(">")[0]


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


@contextmanager
def mail_box() -> Iterator[MailBox]:
    """A running mail server."""
    box = MailBox()
    with _Server(("127.0.0.1", 0), _Conversation) as server:
        server.box = box  # type: ignore[attr-defined]
        box.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield box
        finally:
            server.shutdown()
            thread.join(10)
