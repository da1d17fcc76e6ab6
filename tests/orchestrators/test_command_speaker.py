"""Coding agents' command lines as minds: they hang, flood, crash, talk nonsense, and never leave a process behind."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from maxkernel_orchestrators.minds.commands import KNOWN, Command, CommandSpeaker, command_speaker
from maxkernel_orchestrators.minds.speaking import SpeakerFaultError
from maxkernel_tools.errors import MisuseError
from tests.orchestrators.fake_lab import FakeLab
from tests.orchestrators.test_auto import optimize
from tests.orchestrators.test_prompted_minds import CODE, PLAN, STOP

AGENT = str(Path(__file__).with_name("agent_command.py"))
pytestmark = pytest.mark.anyio


def line(*words: str) -> str:
    return "cli:" + shlex.join([sys.executable, AGENT, *words])


def living(note: Path) -> list[int]:
    """Wait until the processes of ``note`` are gone; return those that stayed (a zombie has ended)."""
    deadline = time.monotonic() + 20
    while True:
        left = [pid for pid in json.loads(note.read_text()) if _lives(pid)]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.02)


def appeared(note: Path) -> None:
    deadline = time.monotonic() + 30
    while not note.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_the_prompt_arrives_on_stdin_whole() -> None:
    prompt = "µ" * 300_000
    reply = await command_speaker(line("echo")).say("planner", prompt)
    assert reply.text == prompt
    assert reply.usd is None, "nobody said what it cost"


async def test_it_works_in_an_empty_folder_that_is_gone_afterwards() -> None:
    reply = await command_speaker(line("where")).say("planner", "x")
    assert Path(reply.text) != Path.cwd()
    assert not await anyio.Path(reply.text).exists()


async def test_what_known_agents_report_is_read() -> None:
    claude = Command((sys.executable, AGENT, "claude"), KNOWN["claude"].read, priced=True)
    reply = await CommandSpeaker("cli:claude", claude).say("planner", "x")
    assert (reply.text, reply.input_tokens, reply.output_tokens, reply.usd) == ("hello", 15, 7, 0.25)
    gemini = Command((sys.executable, AGENT, "gemini"), KNOWN["gemini"].read)
    reply = await CommandSpeaker("cli:gemini", gemini).say("planner", "x")
    assert (reply.text, reply.input_tokens, reply.output_tokens, reply.usd) == ("hello", 11, 7, None)
    plain = Command((sys.executable, AGENT, "echo"), KNOWN["claude"].read)
    with pytest.raises(SpeakerFaultError, match="no JSON"):
        await CommandSpeaker("cli:claude", plain).say("planner", "not JSON")


async def test_a_crash_and_its_last_words_are_a_fault() -> None:
    with pytest.raises(SpeakerFaultError, match="code 3: out of credit") as caught:
        await command_speaker(line("crash")).say("planner", "x")
    assert caught.value.kind == "crashed"
    with pytest.raises(SpeakerFaultError, match=f"code {128 + signal.SIGSEGV}"):
        await command_speaker(line("die")).say("planner", "x")


async def test_one_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    note = tmp_path / "pids.json"
    with pytest.raises(SpeakerFaultError) as caught:
        await command_speaker(line("brood", str(note)), timeout_s=5.0).say("planner", "x")
    assert caught.value.kind == "timeout"
    assert living(note) == []


async def test_daemons_it_leaves_behind_are_ended_too(tmp_path: Path) -> None:
    note = tmp_path / "pids.json"
    await command_speaker(line("leave-children", str(note))).say("planner", "x")
    assert living(note) == []


async def test_a_flood_is_cut_off_by_one_that_never_listens() -> None:
    with pytest.raises(SpeakerFaultError) as caught:
        await command_speaker(line("deaf-flood"), output_bytes=1 << 20).say("planner", "x" * 1_000_000)
    assert caught.value.kind == "too-long"


async def test_cancelling_ends_it(tmp_path: Path) -> None:
    note = tmp_path / "pids.json"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(command_speaker(line("brood", str(note))).say, "planner", "x")
        await anyio.to_thread.run_sync(appeared, note)
        tasks.cancel_scope.cancel()
    assert living(note) == []


_ASKER = """
import anyio, sys
from maxkernel_orchestrators.minds.commands import command_speaker
anyio.run(command_speaker(sys.argv[1]).say, "planner", "x")
"""


def test_a_parent_killed_with_9_leaves_nothing(tmp_path: Path) -> None:
    note = tmp_path / "pids.json"
    parent = subprocess.Popen(
        [sys.executable, "-c", _ASKER, line("brood", str(note))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.DEVNULL,
    )
    appeared(note)
    parent.kill()
    parent.wait(10)
    assert living(note) == []


@pytest.mark.parametrize("author", ["cli:no-such-program-anywhere --x", "cli:'", "cli: "])
def test_what_is_no_command_is_refused(author: str) -> None:
    with pytest.raises(MisuseError, match="cli:claude"):
        command_speaker(author)


def test_an_agent_per_role_takes_a_kernel_through_auto(tmp_path: Path) -> None:
    for name, text in (("plan", PLAN), ("code", f"```json\n{CODE}\n```"), ("stop", STOP)):
        (tmp_path / name).write_text(text)
    plans = [{"role": "planner", "text": PLAN}, {"role": "planner", "text": STOP}]
    (tmp_path / "plans.json").write_text(json.dumps(plans))
    author = f"planner=scripted:{tmp_path / 'plans.json'},implementer={line('say', str(tmp_path / 'code'))}"
    result = optimize(tmp_path / "j-1", FakeLab(), author=author)
    assert result.ok is True
    assert result.cost.exchanges == 3
    assert result.cost.usd is None


def test_an_agent_that_talks_nonsense_gives_no_kernel_and_no_crash(tmp_path: Path) -> None:
    result = optimize(tmp_path / "j-1", FakeLab(), author=line("garbage"))
    assert result.ok is False
    assert result.kernel_path is None
    assert result.cost.faults == {"malformed": 3}
