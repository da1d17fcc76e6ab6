"""Start to initialise of ``maxkernel serve``, beside the time of ``import mcp`` alone: median of 5 each, taken in turn.

Usage: python benchmarks/start_time.py [ROUNDS]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}},
}


def environment(home: str) -> dict[str, str]:
    roots = os.pathsep.join(str(ROOT / part) for part in ("", "tools", "orchestrators"))
    return {**os.environ, "PYTHONPATH": roots, "MAXKERNEL_HOME": home}


def start_s(env: dict[str, str]) -> float:
    """Return the seconds from starting the server to its answer to initialize."""
    began = time.monotonic()
    command = [sys.executable, "-m", "maxkernel_mcp", "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(HELLO).encode() + b"\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        taken = time.monotonic() - began
        process.stdin.close()
        process.wait(30)
    assert b"serverInfo" in answer
    return taken


def import_s(env: dict[str, str]) -> float:
    """Return the seconds a process takes that only imports mcp."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import mcp"], env=env, check=True, timeout=60)
    return time.monotonic() - began


def measure(rounds: int = 5) -> dict[str, float]:
    """Return both medians and their ratio."""
    with tempfile.TemporaryDirectory() as home:
        env = environment(home)
        start_s(env), import_s(env)  # warms the file cache
        pairs = [(start_s(env), import_s(env)) for _ in range(rounds)]
    start, alone = (statistics.median(column) for column in zip(*pairs, strict=True))
    return {"start_s": round(start, 3), "import_mcp_s": round(alone, 3), "ratio": round(start / alone, 2)}


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 5)))
