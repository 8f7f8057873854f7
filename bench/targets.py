"""What is to be reached, and whether it was, as one list at the end."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class _Target:
    name: str
    found: float
    bound: float
    at_most: bool

    def line(self) -> str:
        reached = self.found <= self.bound if self.at_most else self.found >= self.bound
        word = "at most" if self.at_most else "at least"
        return f"  {'reached' if reached else 'MISSED ':<8} {self.name:<58} {self.found:8.2f}   {word} {self.bound:g}"


@dataclass(slots=True)
class Targets:
    """Collected while the parts run."""

    _listed: list[_Target] = field(default_factory=list)

    def at_most(self, name: str, found: float, bound: float) -> None:
        """Smaller is better."""
        self._listed.append(_Target(name, found, bound, at_most=True))

    def at_least(self, name: str, found: float, bound: float) -> None:
        """Larger is better."""
        self._listed.append(_Target(name, found, bound, at_most=False))

    def told(self) -> None:
        """Print them. A missed one is no error: what is slow here may be quick on a machine that is not shared."""
        print("\nTargets")
        for target in self._listed:
            print(target.line())
