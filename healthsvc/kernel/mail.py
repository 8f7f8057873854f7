"""The one place that sends e-mail: one letter at a time, through the server that the operator names.

What a letter is owed for is a row of whoever calls; here nothing is kept and nothing is tried again.
"""

import re
import smtplib
import ssl
from contextlib import suppress
from dataclasses import dataclass
from email import policy
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Final
from urllib.parse import unquote, urlsplit

from django.conf import settings

from healthsvc.kernel import clock

#: For connecting and for each answer of the server.
TIMEOUT_SECONDS: Final = 10.0
_PORTS: Final = {"smtp": 587, "smtps": 465}
#: So that no header is folded: some servers know repeats only by a Message-ID in one line.
_LONG_LINES: Final = policy.default.clone(max_line_length=500)
_ATOMS: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_ADDRESS: Final = re.compile(rf"{_ATOMS}(\.{_ATOMS})*@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where letters are handed in. Without `wrapped` the connection turns to TLS where the server offers it."""

    host: str
    port: int
    wrapped: bool
    user: str = ""
    password: str = ""


@dataclass(frozen=True, slots=True)
class Letter:
    """Plain text to some addresses. `message_id` is the same whenever it is sent again, so that repeats are dropped."""

    message_id: str
    to: tuple[str, ...]
    subject: str
    text: str


class MailError(Exception):
    """The letter was not taken, or nobody knows. Its text is the kind alone: a server's words may hold addresses."""


class LetterRefusedError(MailError):
    """The server works, but takes this letter for none of its addresses, ever where `is_final`."""

    def __init__(self, *, is_final: bool) -> None:
        super().__init__("letter_refused")
        self.is_final = is_final


def mail_server_read(url: str) -> MailServer | None:
    """The server of `smtp://user:password@host:port` or `smtps://…`; None for an empty text.

    ValueError otherwise, whose text may hold the password: it is not to be shown.
    """
    if not url:
        return None
    parts = urlsplit(url)
    is_whole = bool(parts.username) == bool(parts.password) and not (parts.path.strip("/") or parts.query)
    if parts.scheme not in _PORTS or not parts.hostname or not is_whole or parts.fragment:
        raise ValueError("not the URL of a mail server")
    return MailServer(
        host=parts.hostname,
        port=parts.port or _PORTS[parts.scheme],
        wrapped=parts.scheme == "smtps",
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
    )


def address_is_plain(address: str) -> bool:
    """Whether this is one e-mail address in ASCII, `name@host`, without a display name."""
    return _ADDRESS.fullmatch(address) is not None


def mail_send(server: MailServer, letter: Letter) -> int:
    """Hand a letter in; how many of its addresses were refused, which is never all. Never in a transaction.

    MailError where none of its addresses gets it, or nobody knows.
    """
    message = EmailMessage(policy=_LONG_LINES)
    message["From"] = settings.EMAIL_FROM
    message["To"] = ", ".join(letter.to)
    message["Subject"] = letter.subject
    message["Date"] = format_datetime(clock.now())
    message["Message-ID"] = letter.message_id
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(letter.text)
    try:
        client = _connected(server)
        try:
            refused = client.send_message(message, settings.EMAIL_FROM, letter.to)
            # The letter is taken: what the server answers to the farewell changes nothing.
            with suppress(smtplib.SMTPException, OSError):
                client.quit()
        finally:
            client.close()
    except smtplib.SMTPRecipientsRefused as error:
        codes = {code for code, _words in error.recipients.values()}
        raise LetterRefusedError(is_final=all(code >= 500 for code in codes)) from None
    except (smtplib.SMTPException, OSError) as error:
        raise MailError(type(error).__name__) from None
    return len(refused)


def _connected(server: MailServer) -> smtplib.SMTP:
    """A connection that is encrypted where it can be, and is never shown a password where it is not."""
    context = ssl.create_default_context()
    if server.wrapped:
        client: smtplib.SMTP = smtplib.SMTP_SSL(server.host, server.port, timeout=TIMEOUT_SECONDS, context=context)
    else:
        client = smtplib.SMTP(server.host, server.port, timeout=TIMEOUT_SECONDS)
    try:
        client.ehlo_or_helo_if_needed()
        encrypted = server.wrapped
        if not encrypted and client.has_extn("starttls"):
            client.starttls(context=context)
            encrypted = True
        if server.user:
            if not encrypted and server.host not in _LOOPBACK:
                raise MailError("no_encryption")
            client.login(server.user, server.password)
    except BaseException:
        client.close()
        raise
    return client
