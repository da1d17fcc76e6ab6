"""``maxkernel diff`` in a shell: exit codes, JSON alone on stdout, the files it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from maxkernel_mcp.cli import main
from tests.lab.test_diff import cores
from tests.traces.captures import Call, trace_events, write_trace, write_xspace


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write_xspace(tmp_path / "a.xplane.pb", cores())
    folder = tmp_path / "plugins" / "profile" / "2026_01_01"
    folder.mkdir(parents=True)
    write_xspace(folder / "host.xplane.pb", cores(1.1))
    other = cores()
    for call in other[0].calls:
        call.name, call.scope, call.category = "gather.1", "jit(g)/take", "gather"
    other[0].calls.append(Call("sort.2", 60_000_000, 90))
    write_trace(tmp_path / "other.trace.json.gz", trace_events(other))
    return tmp_path


def diff(place: Path, *arguments: str) -> int:
    return main(["diff", "--home", str(place / "home"), *arguments])


def test_exit_codes_and_files(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, slower = str(place / "a.xplane.pb"), str(place / "plugins")
    assert diff(place, a, a, "--fail-on", "slower:1%") == 0
    assert "passed" in capsys.readouterr().out
    out = place / "view.html"
    assert diff(place, a, slower, "--fail-on", "slower:1%", "--html", str(out), "--csv", str(place / "t.csv")) == 1
    assert "met: slower:1%" in capsys.readouterr().out
    assert out.read_text().startswith("<!doctype html>")
    assert (place / "t.csv").read_text().startswith("name,")
    assert diff(place, a, slower, "--fail-on", "slower:20%", "--json") == 0
    caught = capsys.readouterr()
    assert json.loads(caught.out)["rows"][0]["verdict"] == "slower"
    assert "passed" in caught.err


def test_misuse_and_different_programs(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = str(place / "a.xplane.pb")
    assert diff(place, a, str(place / "absent")) == 2
    assert diff(place, a, a, "--fail-on", "slowly") == 2
    assert diff(place, a, a, "--core", "7") == 2
    capsys.readouterr()
    # Faster or slower means nothing here, and a condition that cannot be judged is no pass.
    assert diff(place, a, str(place / "other.trace.json.gz"), "--fail-on", "slower:99%") == 1
    said = capsys.readouterr().out
    assert "The programs differ" in said
    assert "inconclusive" in said
