"""The `where` language: a tokeniser and a precedence parser whose errors carry the position."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from aggregation.query.nodes import (
    Comparison,
    Conjunction,
    Disjunction,
    Identifier,
    Literal,
    Negation,
    WhereNode,
)
from aggregation.query.problems import ProblemType

#: The whole expression, in characters. Long enough for hundreds of comparisons.
MAX_WHERE_LENGTH = 8_192
#: Parentheses inside one another.
MAX_WHERE_DEPTH = 32
#: Comparisons in one expression: each is a pass over the rows.
MAX_COMPARISONS = 256

_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<text>'(?:[^']|'')*')
    | (?P<operator><=|>=|!=|=|<|>)
    | (?P<paren>[()])
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    """,
    re.VERBOSE,
)
_KEYWORDS = frozenset({"AND", "OR", "NOT", "TRUE", "FALSE", "NULL"})
_UNSUPPORTED = frozenset({"IN", "LIKE", "ILIKE", "BETWEEN", "IS"})
_OPERATORS = "=, !=, <, <=, > or >="


class WhereError(Exception):
    """The expression is malformed at `position` (characters from 1)."""

    def __init__(self, position: int, message: str, problem_type: ProblemType) -> None:
        super().__init__(message)
        self.message = f"at character {position}: {message}"
        self.type = problem_type


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    position: int


def where_parse(text: str) -> WhereNode:
    """The tree of a where expression. Raises `WhereError`; never recurses deeper than `MAX_WHERE_DEPTH`."""
    if len(text) > MAX_WHERE_LENGTH:
        message = f"the expression is longer than {MAX_WHERE_LENGTH} characters"
        raise WhereError(MAX_WHERE_LENGTH + 1, message, ProblemType.TOO_LONG)
    parser = _Parser(_tokens(text), end=len(text) + 1)
    return parser.whole()


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            # The parser may find an earlier mistake that says more; else it stops at this token.
            tokens.append(_Token("illegible", _lexical_message(text, at), at + 1))
            break
        kind = match.lastgroup or ""
        if kind == "word" and match.group().upper() in _KEYWORDS:
            tokens.append(_Token("keyword", match.group().upper(), at + 1))
        elif kind != "space":
            tokens.append(_Token(kind, match.group(), at + 1))
        at = match.end()
    return tokens


def _lexical_message(text: str, at: int) -> str:
    if text[at] == "'":
        return "this text has no closing single quote (write '' for a quote inside)"
    if text[at] == '"':
        return "texts are written in single quotes"
    return "this character has no meaning here"


class _Parser:
    """OR binds weaker than AND, AND weaker than NOT, NOT weaker than a comparison."""

    def __init__(self, tokens: list[_Token], end: int) -> None:
        self._tokens = tokens
        self._next = 0
        self._end = _Token("end", "", end)
        self._depth = 0
        self._comparisons = 0

    def whole(self) -> WhereNode:
        node = self._either()
        token = self._peek()
        if token.kind != "end":
            raise self._unexpected(token, "AND, OR or the end")
        return node

    def _peek(self) -> _Token:
        return self._tokens[self._next] if self._next < len(self._tokens) else self._end

    def _take(self) -> _Token:
        token = self._peek()
        self._next += 1
        return token

    def _taken(self, keyword: str) -> bool:
        token = self._peek()
        if token.kind == "keyword" and token.text == keyword:
            self._next += 1
            return True
        return False

    def _either(self) -> WhereNode:
        terms = self._joined("OR", self._both)
        return terms[0] if len(terms) == 1 else Disjunction(terms)

    def _both(self) -> WhereNode:
        terms = self._joined("AND", self._negated)
        return terms[0] if len(terms) == 1 else Conjunction(terms)

    def _joined(self, keyword: str, term: Callable[[], WhereNode]) -> tuple[WhereNode, ...]:
        terms = [term()]
        while self._taken(keyword):
            terms.append(term())
        return tuple(terms)

    def _negated(self) -> WhereNode:
        odd = False
        while self._taken("NOT"):
            odd = not odd
        node = self._primary()
        return Negation(node) if odd else node

    def _primary(self) -> WhereNode:
        token = self._peek()
        if token.text != "(" or token.kind != "paren":
            return self._comparison()
        self._take()
        self._depth += 1
        if self._depth > MAX_WHERE_DEPTH:
            message = f"parentheses are nested deeper than {MAX_WHERE_DEPTH}"
            raise WhereError(token.position, message, ProblemType.TOO_MANY)
        node = self._either()
        closing = self._take()
        if closing.text != ")" or closing.kind != "paren":
            raise self._unexpected(closing, "')', AND or OR")
        self._depth -= 1
        return node

    def _comparison(self) -> Comparison:
        left = self._operand("a column name")
        operator = self._take()
        if operator.kind != "operator":
            raise self._unexpected(operator, f"one of {_OPERATORS}")
        right = self._operand("a text in single quotes, a number, TRUE, FALSE or a column name")
        self._comparisons += 1
        if self._comparisons > MAX_COMPARISONS:
            message = f"there are more than {MAX_COMPARISONS} comparisons"
            raise WhereError(operator.position, message, ProblemType.TOO_MANY)
        return Comparison(left, operator.text, right, operator.position)

    def _operand(self, expected: str) -> Identifier | Literal:
        token = self._take()
        if token.kind == "word" and token.text.upper() not in _UNSUPPORTED:
            return Identifier(token.text, token.position)
        if token.kind == "text":
            return Literal(token.text[1:-1].replace("''", "'"), token.position)
        if token.kind == "keyword" and token.text in {"TRUE", "FALSE"}:
            return Literal(token.text == "TRUE", token.position)
        if token.kind == "number":
            return Literal(_number(token), token.position)
        raise self._unexpected(token, expected)

    @staticmethod
    def _unexpected(token: _Token, expected: str) -> WhereError:
        if token.kind == "illegible":
            return WhereError(token.position, token.text, ProblemType.WHERE_SYNTAX)
        met = {"end": "the expression ends here; ", "keyword": f"{token.text} cannot stand here; "}.get(token.kind, "")
        if token.kind == "word" and token.text.upper() in _UNSUPPORTED:
            met = f"{token.text.upper()} is not part of the language; "
        return WhereError(token.position, f"{met}expected {expected}", ProblemType.WHERE_SYNTAX)


def _number(token: _Token) -> float:
    number = float(token.text)
    if not math.isfinite(number):
        raise WhereError(token.position, "this number is too large", ProblemType.OUT_OF_RANGE)
    return number
