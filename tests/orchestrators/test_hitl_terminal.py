"""Human in the loop in a real terminal: the orchestrator on a pseudo-terminal, typed at like a person does."""

from __future__ import annotations

import importlib.util
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from maxkernel_orchestrators.job import JobConfig
from tests.lab.processes import REPO, python_environment
from tests.orchestrators.test_prompted_minds import CODE, PLAN, script

_DEADLINE_S = 60.0


class Terminal:
    """A command on a pseudo-terminal."""

    def __init__(self, command: list[str], home: Path, folder: Path = REPO) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=python_environment(home, TERM="xterm"),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.text = ""

    def until(self, words: str, seconds: float = _DEADLINE_S) -> str:
        """Read until the screen shows ``words`` again; return what came before."""
        deadline = time.monotonic() + seconds
        while words not in self.text:
            assert time.monotonic() < deadline, self.text
            if select.select([self.master], [], [], 1.0)[0]:
                try:
                    self.text += os.read(self.master, 65536).decode("utf-8", "replace")
                except OSError:
                    raise AssertionError(f"it ended without {words!r}:\n{self.text}") from None
        before, _, self.text = self.text.partition(words)
        return before

    def type(self, line: str) -> None:
        os.write(self.master, line.encode() + b"\n")

    def end(self, seconds: float = _DEADLINE_S) -> int:
        deadline = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < deadline:
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self.master, 65536).decode("utf-8", "replace")
                except OSError:
                    break
        code = self.process.wait(10)
        os.close(self.master)
        return code


def orchestrator(job: Path) -> Terminal:
    serve = [sys.executable, "-m", "tests.orchestrators.serve_fake_lab"]
    command = [sys.executable, "-m", "maxkernel_orchestrators", "--job-dir", str(job)]
    return Terminal([*command, "--serve-command", *serve], job.parent / "home")


def new_job(folder: Path) -> Path:
    author = script(folder, ("planner", PLAN), ("implementer", CODE), ("planner", PLAN.replace("tiling", "fusion")))
    job = folder / "j-1"
    job.mkdir()
    config = JobConfig.model_validate({"task": "41k", "paradigm": "hitl", "author": author})
    (job / "config.json").write_text(config.model_dump_json())
    return job


def test_a_person_types_their_way_to_a_verified_kernel_leaving_and_coming_back(tmp_path: Path) -> None:
    job = new_job(tmp_path)
    first = orchestrator(job)
    assert "why: the MXU waits" in first.until("Plan c1? [approve, edit, reject, ask, stop] >")
    first.type("nonsense")
    first.until("Type one of: approve")
    first.type("app")
    assert "A new kernel" in first.until("Code of c1?")
    os.write(first.master, b"\x04")  # end of input: the person leaves
    assert first.end() == 1
    assert "The same command goes on from here" in first.text
    assert not (job / "result.json").exists()

    again = orchestrator(job)
    assert "approve (said before)" in again.until("Code of c1?")
    again.type("edit")
    again.until("Then? [done, back] >")
    kernel = job / "kernel-c1.py"
    kernel.write_text("# by hand\n" + kernel.read_text())
    again.type("done")
    assert "# by hand" in again.until("Code of c1?")
    again.type("go")
    assert "estimated from the compiler's schedule" in again.until("Plan c2?")
    again.type("stop")
    assert again.end() == 0
    result = json.loads((job / "result.json").read_text())
    assert [(one["approved"], one["channel"]) for one in result["decisions"]] == [(True, "terminal")]
    assert "# by hand" in (job / "best_kernel.py").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_session_that_is_ended_by_a_signal_keeps_its_answers(tmp_path: Path, how: signal.Signals) -> None:
    job = new_job(tmp_path)
    first = orchestrator(job)
    first.until("Plan c1?")
    first.type("approve")
    first.until("Code of c1?")
    first.process.send_signal(how)
    first.end()
    again = orchestrator(job)
    assert "approve (said before)" in again.until("Code of c1?")
    again.type("reject")
    again.until("Plan c2?")
    again.type("stop")
    assert again.end() == 1
    assert not (job / "best_kernel.py").exists()


def test_without_a_terminal_nobody_can_approve(tmp_path: Path) -> None:
    job = new_job(tmp_path)
    command = [sys.executable, "-m", "maxkernel_orchestrators", "--job-dir", str(job), "--serve-command", "false"]
    done = subprocess.run(
        command,
        cwd=REPO,
        env=python_environment(tmp_path / "home"),
        input="approve\ngo\n",
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        check=False,
    )
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr
    assert not (job / "journal.sqlite3").exists()


@pytest.mark.slow
@pytest.mark.toolchain
@pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason="no TPU compiler here")
def test_maxkernel_hitl_over_the_real_lab(tmp_path: Path) -> None:
    (tmp_path / "reference.py").write_text(
        "import jax.numpy as jnp\n\n\ndef workload(x, s):\n    return jnp.tanh(x) * s\n"
    )
    command = [sys.executable, "-P", "-m", "maxkernel_mcp", "hitl", "--reference", "reference.py"]
    command += ["--input", "f32[512,1024]", "--input", "f32[1024]", "--target", "v6e", "--json"]
    first = Terminal(command, tmp_path / "home", tmp_path)
    first.until("Plan c1?", 200)
    first.type("approve")
    first.until("Code of c1?")
    first.process.kill()
    first.end()
    again = Terminal(command, tmp_path / "home", tmp_path)
    assert "approve (said before)" in again.until("Code of c1?", 200)
    again.type("go")
    assert "µs, estimated from the compiler's schedule" in again.until("No further plan", 200)
    assert again.end(200) == 0
    (path,) = (tmp_path / "home" / "jobs").glob("j-*/result.json")
    result = json.loads(path.read_text())
    assert result["verdict"] == "correct"
    assert result["paradigm"] == "hitl"
    assert [one["approved"] for one in result["decisions"]] == [True]
