"""How the mail server is named, and what is never shown to one."""

import os
import subprocess
import sys

import pytest
from pytest_django import Settings

from healthsvc.kernel.mail import Letter, MailError, MailServer, address_is_plain, mail_send, mail_server_read
from tests.webhooks.mail_receiving import mail_box

LETTER = Letter("<1@service.example>", ("a@customer.example",), "Subject", "Text")


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("", None),
        ("smtp://mail.example", MailServer("mail.example", 587, wrapped=False)),
        ("smtp://mail.example:25/", MailServer("mail.example", 25, wrapped=False)),
        ("smtps://mail.example", MailServer("mail.example", 465, wrapped=True)),
        ("smtps://me%40x:p%2Fw@mail.example:1465", MailServer("mail.example", 1465, True, "me@x", "p/w")),
    ],
)
def test_a_mail_server_is_named_by_a_url(url: str, server: MailServer | None) -> None:
    assert mail_server_read(url) == server


@pytest.mark.parametrize(
    "url",
    [
        "mail.example", "http://mail.example", "smtp://", "smtp://:25", "smtp://user@mail.example",
        "smtp://:pw@mail.example", "smtp://mail.example/inbox", "smtp://mail.example?tls=no", "smtp://mail.example#a",
        "smtp://mail.example:no", "smtp://mail.example:99999",
    ],
)  # fmt: skip
def test_any_other_text_is_refused(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - its text may hold the password, and is shown nowhere
        mail_server_read(url)


@pytest.mark.parametrize(
    ("address", "plain"),
    [
        ("ops@service.example", True),
        ("a.b+c@x.example", True),
        ("", False),
        ("ops", False),
        ("a..b@c.example", False),
        (".a@c.example", False),
        ("@service.example", False),
        ("ops@", False),
        ("Ops <ops@service.example>", False),
        ("a@b.example,c@d.example", False),
        ("a@b.example\r\nBcc: c@d.example", False),
        ("ä@b.example", False),
    ],
)
def test_a_plain_address(address: str, plain: bool) -> None:
    assert address_is_plain(address) is plain


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"EMAIL_URL": "smtp://me:topsecret@"}, "EMAIL_URL must be smtp://"),
        ({"EMAIL_URL": "smtp://me:topsecret@mail.example:port"}, "EMAIL_URL must be smtp://"),
        ({"EMAIL_URL": "smtp://me:topsecret@mail.example"}, "EMAIL_FROM must be"),
        ({"EMAIL_URL": "smtp://me:topsecret@mail.example", "EMAIL_FROM": "nobody"}, "EMAIL_FROM must be"),
        ({"STAFF_NOTICE_EMAILS": "ops@service.example,nobody"}, "STAFF_NOTICE_EMAILS must hold"),
    ],
)
def test_settings_that_name_no_mail_server_stop_the_process(values: dict[str, str], told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import healthsvc.settings"],
        env={**os.environ, **values},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert f"EnvError: {told}" in done.stderr
    assert "topsecret" not in done.stderr


def test_a_password_is_shown_to_this_machine_only_where_nothing_is_encrypted(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EMAIL_FROM = "healthsvc@service.example"
    with mail_box() as box:
        box.extensions = ("AUTH PLAIN",)
        server = MailServer("127.0.0.1", box.port, wrapped=False, user="me", password="topsecret")
        assert mail_send(server, LETTER) == 0
        assert "AUTH" in box.commands
        box.commands.clear()
        monkeypatch.setattr("healthsvc.kernel.mail._LOOPBACK", frozenset())
        with pytest.raises(MailError, match="no_encryption"):
            mail_send(server, LETTER)
        assert "AUTH" not in box.commands
        assert len(box.letters) == 1


def test_a_server_whose_certificate_is_not_trusted_is_sent_nothing(settings: Settings) -> None:
    settings.EMAIL_FROM = "healthsvc@service.example"
    with mail_box() as box:
        box.extensions = ("STARTTLS",)
        with pytest.raises(MailError):
            mail_send(MailServer("127.0.0.1", box.port, wrapped=False), LETTER)
        assert (box.commands[:2], box.letters) == (["EHLO", "STARTTLS"], [])
