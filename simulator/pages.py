"""The pages a person sees at the simulated vendor: log in, consent, and what went wrong. No script, one style."""

import base64
import hashlib
from collections.abc import Iterable
from html import escape

from simulator.web import Response

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --quiet: #5b6470; --line: #d5dae0; --ground: #f4f6f8;
  --card: #ffffff; --accent: #1f5fae; --on-accent: #ffffff; --bad: #a32020; --bad-ground: #fdeeee; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ebee; --quiet: #a2abb5; --line: #3a424b;
  --ground: #14181c; --card: #1d2227; --accent: #7ab4f5; --on-accent: #0c1a2b; --bad: #ff9c9c;
  --bad-ground: #3a1d1f; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1.0625rem/1.5 system-ui, sans-serif; }
main { max-width: 26rem; margin: 0 auto; padding: 2rem 1rem 3rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 0.75rem; padding: 1.5rem; }
.vendor { margin: 0 0 1rem; font-size: 0.9375rem; color: var(--quiet); text-align: center; }
.vendor strong { display: block; color: var(--ink); font-size: 1.25rem; }
h1 { margin: 0 0 0.5rem; font-size: 1.375rem; line-height: 1.3; }
p { margin: 0 0 1rem; } .quiet { color: var(--quiet); font-size: 0.9375rem; } .last { margin: 1rem 0 0; }
.problem { border: 1px solid var(--bad); border-radius: 0.5rem; padding: 0.625rem 0.875rem;
  background: var(--bad-ground); color: var(--bad); }
label.above { display: block; margin: 1rem 0 0.25rem; font-weight: 600; }
input.line { width: 100%; min-height: 3rem; padding: 0.5rem 0.75rem; border: 1px solid var(--quiet);
  border-radius: 0.5rem; background: var(--card); color: var(--ink); font: inherit; }
ul.scopes { list-style: none; margin: 1rem 0 0; padding: 0; border-top: 1px solid var(--line); }
ul.scopes li { border-bottom: 1px solid var(--line); }
ul.scopes label { display: flex; gap: 0.75rem; align-items: center; min-height: 3rem; padding: 0.5rem 0; }
ul.scopes input { flex: none; width: 1.25rem; height: 1.25rem; margin: 0; accent-color: var(--accent); }
.scope-name { display: block; color: var(--quiet); font-size: 0.8125rem; overflow-wrap: anywhere; }
button { display: block; width: 100%; min-height: 3rem; margin: 1rem 0 0; padding: 0.5rem 1rem;
  border: 1px solid var(--accent); border-radius: 0.5rem; background: var(--accent);
  color: var(--on-accent); font: inherit; font-weight: 600; cursor: pointer; }
button.plain { background: transparent; color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
"""

_STYLE_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()


def page(title: str, vendor_name: str, content: str, *, status: int = 200, form_action: str = "'none'") -> Response:
    """One whole page. `content` is HTML already; `form_action` is the CSP source of its form, '' for any.

    The consent form needs '': its answer redirects to the client, whose own redirects go on to addresses
    that this page cannot know, and browsers hold the whole chain against `form-action`.
    """
    policy = ["default-src 'none'", f"style-src 'sha256-{_STYLE_DIGEST}'", "base-uri 'none'"]
    policy += ["frame-ancestors 'none'", *([f"form-action {form_action}"] if form_action else [])]
    html = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f'<p class="vendor"><strong>{escape(vendor_name)}</strong> simulated, not the real service</p>\n'
        f'<div class="card">\n{content}\n</div>\n</main>\n</body>\n</html>\n'
    )
    headers = (
        ("Content-Type", "text/html; charset=utf-8"),
        ("Content-Security-Policy", "; ".join(policy)),
        ("X-Frame-Options", "DENY"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cache-Control", "no-store"),
    )
    return Response(status=status, body=html.encode(), headers=headers)


def _hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'


def _problem(text: str) -> str:
    return f'<p class="problem" role="alert">{escape(text)}</p>\n' if text else ""


def login_page(*, slug: str, vendor_name: str, sign_in: str, form_token: str, account: str, problem: str) -> Response:
    """E-mail and password. `problem` is shown above them after a failed try."""
    content = (
        f"<h1>Log in to {escape(vendor_name)}</h1>\n{_problem(problem)}"
        f'<form method="post" action="/{escape(slug)}/oauth/login">\n'
        f"{_hidden('sign_in', sign_in)}{_hidden('form_token', form_token)}\n"
        '<label class="above" for="email">E-mail</label>\n'
        '<input class="line" id="email" name="email" type="email" autocomplete="username" required '
        f'maxlength="254" value="{escape(account)}">\n'
        '<label class="above" for="password">Password</label>\n'
        '<input class="line" id="password" name="password" type="password" '
        'autocomplete="current-password" required maxlength="128">\n'
        "<button>Log in</button>\n</form>\n"
        '<p class="quiet last">Any e-mail address works here with the password <strong>simulator</strong>. '
        "The same address is always the same simulated person.</p>"
    )
    status = 401 if problem else 200
    return page(f"Log in to {vendor_name}", vendor_name, content, status=status, form_action="'self'")


def consent_page(
    *,
    slug: str,
    vendor_name: str,
    client: str,
    account: str,
    sign_in: str,
    form_token: str,
    scopes: Iterable[tuple[str, str, bool]],
    problem: str,
) -> Response:
    """What will be shared, one checkbox a scope. `scopes` are (scope, words for it, may be unticked)."""
    items = "\n".join(_scope_item(number, *scope) for number, scope in enumerate(scopes))
    content = (
        f"<h1>Share your data with {escape(client)}?</h1>\n{_problem(problem)}"
        f'<p class="quiet">Logged in as {escape(account)}. Untick what you would rather keep to yourself.</p>\n'
        f'<form method="post" action="/{escape(slug)}/oauth/consent">\n'
        f"{_hidden('sign_in', sign_in)}{_hidden('form_token', form_token)}\n"
        f'<ul class="scopes">\n{items}\n</ul>\n'
        '<button name="decision" value="allow">Allow</button>\n'
        '<button class="plain" name="decision" value="deny">Deny</button>\n</form>'
    )
    return page(f"Share your {vendor_name} data", vendor_name, content, form_action="")


def _scope_item(number: int, scope: str, words: str, optional: bool) -> str:
    # A disabled checkbox is not sent, so a fixed scope is shown ticked and added again by the server.
    state = "checked" if optional else "checked disabled"
    name = "" if words == scope else f'<span class="scope-name">{escape(scope)}</span>'
    note = "" if optional else '<span class="scope-name">Always shared</span>'
    return (
        f'<li><label for="scope-{number}"><input type="checkbox" id="scope-{number}" name="scope" '
        f'value="{escape(scope)}" {state}><span>{escape(words)}{name}{note}</span></label></li>'
    )


def failure_page(vendor_name: str, title: str, text: str, status: int) -> Response:
    """A page for what cannot go on and must not redirect, because nobody vouches for the address."""
    content = f'<h1>{escape(title)}</h1>\n<p class="quiet last">{escape(text)}</p>'
    return page(title, vendor_name, content, status=status)
