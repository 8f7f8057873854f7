"""Makes .venv hold exactly what a hash-locked requirements file names; does nothing when it already does.

`python -I healthsvc/runtime/venv.py requirements/run.lock`. Standard library only: nothing is installed yet.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
VENV = PROJECT / ".venv"
PYTHON = VENV / "bin" / "python"
OLDEST, TOO_NEW = (3, 11), (3, 14)


def main(lock: Path) -> int:
    """Repair or make .venv, then install. Two at once wait for each other."""
    if not OLDEST <= sys.version_info < TOO_NEW:
        sys.exit(f"{sys.executable} is Python {sys.version.split()[0]}: 3.11, 3.12 or 3.13 is needed (PYTHON=…).")
    with Path(__file__).open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        stamp, wanted = VENV / f".installed-{lock.stem}", digest(lock)
        if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted and runs():
            return 0
        if not runs():
            make()
        stamp.unlink(missing_ok=True)
        install(lock)
        stamp.write_text(wanted, encoding="utf-8")
    return 0


def digest(lock: Path) -> str:
    """What the stamp must say: the lock's content."""
    return hashlib.sha256(lock.read_bytes()).hexdigest()


def runs() -> bool:
    """Whether .venv has an interpreter of a supported version, and pip: an interrupted or moved one has not."""
    if not PYTHON.exists():
        return False
    test = f"import sys, pip; sys.exit(not {OLDEST} <= sys.version_info < {TOO_NEW} or sys.prefix != {str(VENV)!r})"
    return subprocess.run([PYTHON, "-c", test], capture_output=True, check=False).returncode == 0


def make() -> None:
    """A fresh .venv in place of what is there."""
    sys.stderr.write(f"making .venv with Python {sys.version.split()[0]} ({sys.executable})\n")
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], capture_output=True, text=True, check=False)
    if made.returncode != 0 or not runs():
        sys.stderr.write(made.stdout + made.stderr)
        sys.exit(
            "Python's venv module could not make .venv. On Debian and Ubuntu it is a package of its own: "
            f"apt-get install python{sys.version_info.major}.{sys.version_info.minor}-venv"
        )


def install(lock: Path) -> None:
    """Everything in the lock, each file checked against its hash."""
    sys.stderr.write(f"installing {os.path.relpath(lock, PROJECT)} into .venv\n")
    command = [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--require-hashes"]
    done = subprocess.run([*command, "--requirement", str(lock)], check=False)
    if done.returncode != 0:
        sys.exit("The installation failed; the lines above say why. The next `make` tries again.")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
