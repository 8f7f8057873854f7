"""Merges the lines of many programs into one readable log."""

import os
import sys
from typing import TextIO

#: The longest line kept whole; a program that never ends its line must not fill the memory.
LINE_BYTES = 16_384
_NAME_WIDTH = 10
_COLOURS = (36, 33, 35, 32, 34, 96, 93, 95, 92, 94)


class Console:
    """Writes `name | line`, coloured by name on a terminal unless NO_COLOR is set."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._coloured = self._stream.isatty() and not os.environ.get("NO_COLOR")
        self._colours: dict[str, int] = {}
        self._unfinished: dict[str, bytes] = {}

    def say(self, text: str, name: str = "up") -> None:
        """Each line of `text` under `name`. A closed terminal is no reason to stop the service."""
        for line in text.splitlines() or [""]:
            self._write(f"{self._label(name)} {line}\n")

    def feed(self, name: str, data: bytes) -> None:
        """Output of a program as it comes, in any pieces."""
        text = self._unfinished.pop(name, b"") + data
        *lines, rest = text.split(b"\n")
        if len(rest) > LINE_BYTES:
            lines, rest = [*lines, rest], b""
        if rest:
            self._unfinished[name] = rest
        for line in lines:
            self.say(line.decode(errors="replace").rstrip("\r"), name)

    def show(self, text: str) -> None:
        """Text as it is, for what is copied from the screen."""
        self._write(f"{text}\n")

    def finish(self, name: str) -> None:
        """The program ended, perhaps in the middle of a line."""
        if rest := self._unfinished.pop(name, b""):
            self.say(rest.decode(errors="replace"), name)

    def _label(self, name: str) -> str:
        label = f"{name:<{_NAME_WIDTH}} |"
        if not self._coloured:
            return label
        colour = self._colours.setdefault(name, _COLOURS[len(self._colours) % len(_COLOURS)])
        return f"\x1b[{colour}m{label}\x1b[0m"

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (BrokenPipeError, OSError):
            self._stream = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - lives as long as we do
