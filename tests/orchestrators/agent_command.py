"""A coding agent's command line of the tests' own: reads a prompt, answers or misbehaves as its argument says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def main() -> int:
    act, *rest = sys.argv[1:]
    if act == "deaf-flood":
        while True:
            sys.stdout.write("x" * 65536)
    prompt = sys.stdin.read()
    if act == "say":
        sys.stdout.write(Path(rest[0]).read_text())
    elif act == "echo":
        sys.stdout.write(prompt)
    elif act == "claude":
        usage = {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 7}
        told = {"type": "result", "is_error": False, "result": "hello", "usage": usage, "total_cost_usd": 0.25}
        sys.stdout.write(json.dumps(told))
    elif act == "gemini":
        tokens = {"prompt": 11, "candidates": 3, "thoughts": 4}
        sys.stdout.write(json.dumps({"response": "hello", "stats": {"models": {"g": {"tokens": tokens}}}}))
    elif act == "garbage":
        sys.stdout.buffer.write(bytes(range(256)) * 10)
    elif act == "crash":
        sys.stderr.write("out of credit\n")
        return 3
    elif act == "die":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif act in {"hang", "brood"}:
        return _linger(Path(rest[0]), daemons=act == "brood", stay=True)
    elif act == "leave-children":
        return _linger(Path(rest[0]), daemons=True, stay=False)
    elif act == "where":
        sys.stdout.write(str(Path.cwd()))
    return 0


def _linger(note: Path, *, daemons: bool, stay: bool) -> int:
    """Write the process ids to ``note``: this one's, and those of children in sessions of their own."""
    pids = [os.getpid()]
    if daemons:
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
        pids += [subprocess.Popen(sleeper, start_new_session=True, **quiet).pid for _ in range(2)]
    note.with_suffix(".part").write_text(json.dumps(pids))
    note.with_suffix(".part").rename(note)
    if stay:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    return 0


if __name__ == "__main__":
    sys.exit(main())
