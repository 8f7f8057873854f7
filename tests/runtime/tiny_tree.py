"""A supervised tree of two small programs, run by the tests as a process of its own.

`python -m tests.runtime.tiny_tree FOLDER`. Each program appends its process id, and `server` that of its own child,
to a file in FOLDER; `stubborn` does not listen to SIGTERM.
"""

import sys
from pathlib import Path

from healthsvc.runtime.console import Console
from healthsvc.runtime.processes import Program, end_leftovers
from healthsvc.runtime.supervisor import Supervisor

SERVER = """
import os, subprocess, sys, time
worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("working", flush=True)
with open("server.pids", "a") as file:
    file.write(f"{os.getpid()} {worker.pid}\\n")
time.sleep(600)
"""
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open("stubborn.pids", "a") as file:
    file.write(f"{os.getpid()}\\n")
time.sleep(600)
"""


def main(folder: Path) -> int:
    console = Console()
    supervisor = Supervisor(console, folder / "run")
    with supervisor.watch_signals():
        end_leftovers(folder / "run", console.say)
        supervisor.add(_program(folder, "stubborn", STUBBORN), tier=0)
        supervisor.add(_program(folder, "server", SERVER), tier=1)
        supervisor.run()
        supervisor.stop_all()
    console.say("stopped")
    return 0


def _program(folder: Path, name: str, code: str) -> Program:
    command = (sys.executable, "-c", code)
    return Program(name=name, command=command, environment={}, folder=folder, grace_seconds=0.5)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
