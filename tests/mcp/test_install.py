"""``maxkernel install``: every client, on every system, into settings that exist, are broken, missing or read-only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from maxkernel_mcp.installing import CLIENTS, Client, Surroundings, find_client, jsonc, plan_install, plan_undo, write
from maxkernel_tools.errors import MachineryError, MisuseError
from tests.lab.processes import python_environment

COMMAND = ["/opt/mäx kernel/bin/maxkernel", "serve", "--root", "/home/me/some kernels"]


def _at(tmp_path: Path, platform: str = "linux", **environ: str) -> Surroundings:
    (tmp_path / "project").mkdir(exist_ok=True)
    return Surroundings(platform=platform, home=tmp_path / "home", folder=tmp_path / "project", environ=environ)


def _settings(client: Client, path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    return tomli.loads(text) if client.form == "toml" else jsonc.parse(text)


PATHS = {
    ("claude-desktop", "linux"): "home/.config/Claude/claude_desktop_config.json",
    ("claude-desktop", "darwin"): "home/Library/Application Support/Claude/claude_desktop_config.json",
    ("claude-desktop", "win32"): "home/AppData/Roaming/Claude/claude_desktop_config.json",
    ("claude-code", "linux"): "home/.claude.json",
    ("cursor", "darwin"): "home/.cursor/mcp.json",
    ("vscode", "linux"): "project/.vscode/mcp.json",
    ("gemini", "linux"): "home/.gemini/settings.json",
    ("codex", "linux"): "home/.codex/config.toml",
}


@pytest.mark.parametrize(("name", "platform"), PATHS, ids=str)
def test_each_client_finds_it_where_it_looks(tmp_path: Path, name: str, platform: str) -> None:
    plan = plan_install(find_client(name), _at(tmp_path, platform), COMMAND)
    assert plan.path == tmp_path / PATHS[name, platform]
    assert not plan.path.exists()


def test_variables_move_the_settings(tmp_path: Path) -> None:
    at = _at(tmp_path, XDG_CONFIG_HOME=str(tmp_path / "xdg"), CODEX_HOME=str(tmp_path / "codex"))
    assert plan_install(find_client("claude-desktop"), at, COMMAND).path.is_relative_to(tmp_path / "xdg")
    assert plan_install(find_client("codex"), at, COMMAND).path == tmp_path / "codex" / "config.toml"


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_missing_settings_are_made_and_undone(tmp_path: Path, client: Client) -> None:
    at = _at(tmp_path)
    plan = plan_install(client, at, COMMAND)
    written = write(plan)
    entry = _settings(client, written.path)[client.section]["maxkernel"]
    assert [entry["command"], *entry["args"]] == COMMAND
    assert entry.get("type", "stdio") == "stdio"
    assert written.backup is None
    assert written.path.stat().st_mode & 0o077 == 0
    assert not plan_install(client, at, COMMAND).changes
    write(plan_undo(client, at))
    assert not written.path.exists()


EXISTING = {
    "jsonc": """\
{
    // servers of mine
    "theme": "dark", /* kept */
    "SECTION": {
        "other": {
            "command": "npx", "args": ["-y", "a \\"quoted\\" // thing"], // not a comment
            "env": {"API_KEY": "s3cret"},
        },
    },
    "after": [1, 2, {"x": null}],
}
""",
    "toml": """\
# my settings
model = "some-model"   # kept

[SECTION.other]
command = "npx"
args = [
  "-y",
  "[not a table]",
]
env = { API_KEY = "s3cret" }

[profiles.x]
text = \"\"\"
[SECTION.maxkernel]
\"\"\"
""",
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_existing_settings_are_merged_kept_and_restored(tmp_path: Path, client: Client, newline: str) -> None:
    at = _at(tmp_path)
    path = client.path(at)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = EXISTING[client.form].replace("SECTION", client.section).replace("\n", newline)
    path.write_bytes(text.encode())
    path.chmod(0o640)
    before = _settings(client, path)
    plan = plan_install(client, at, COMMAND)
    assert "s3cret" not in plan.diff
    assert any(line.startswith("+") and "maxkernel" in line for line in plan.diff.splitlines())
    written = write(plan)
    assert written.backup is not None
    assert written.backup.read_bytes() == text.encode()
    after = _settings(client, path)
    entry = after[client.section].pop("maxkernel")
    assert after == before
    assert entry["command"] == COMMAND[0]
    # Every line that was there is still there; a comma may have been added to one.
    new = path.read_bytes().decode()
    assert all(line in new for line in text.split(newline))
    assert ("\r\n" in new) == (newline == "\r\n")
    assert new.count("\n") == new.count(newline)
    assert path.stat().st_mode & 0o777 == 0o640
    write(plan_undo(client, at))
    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_an_entry_is_brought_up_to_date_and_later_changes_survive_the_undo(tmp_path: Path, client: Client) -> None:
    at = _at(tmp_path)
    path = client.path(at)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(EXISTING[client.form].replace("SECTION", client.section))
    write(plan_install(client, at, ["/old/maxkernel", "serve"]))
    write(plan_install(client, at, COMMAND))
    text = path.read_text()
    assert "/old/maxkernel" not in text
    path.write_text(text.replace("s3cret", "another"))
    write(plan_undo(client, at))
    left = _settings(client, path)
    assert "maxkernel" not in left[client.section]
    assert left[client.section]["other"]["env"] == {"API_KEY": "another"}
    assert not plan_undo(client, at).changes


@pytest.mark.parametrize("text", ['{"a": ', "[]", '{"SECTION": 3}', "[[[", '{"a" 1}', "\x00", "{} {}"])
@pytest.mark.parametrize("name", ["cursor", "codex"])
def test_broken_settings_are_left_as_they_are(tmp_path: Path, name: str, text: str) -> None:
    client, at = find_client(name), _at(tmp_path)
    path = client.path(at)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("SECTION", client.section))
    with pytest.raises((MisuseError, MachineryError), match=path.name):
        plan_install(client, at, COMMAND)
    assert path.read_text() == text.replace("SECTION", client.section)


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", "{}", "{ // nothing\n}", "\ufeff{}"])
def test_empty_settings_are_filled(tmp_path: Path, text: str) -> None:
    client, at = find_client("cursor"), _at(tmp_path)
    path = client.path(at)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    write(plan_install(client, at, COMMAND))
    assert _settings(client, path)["mcpServers"]["maxkernel"]["args"] == COMMAND[1:]
    assert ("//" in path.read_text()) == ("//" in text)
    write(plan_undo(client, at))
    assert path.read_text(encoding="utf-8") == text


def test_a_linked_file_stays_a_link(tmp_path: Path) -> None:
    client, at = find_client("cursor"), _at(tmp_path)
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    client.path(at).parent.mkdir(parents=True)
    client.path(at).symlink_to(real)
    write(plan_install(client, at, COMMAND))
    assert client.path(at).is_symlink()
    assert "maxkernel" in real.read_text()


def test_read_only_settings_are_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client, at = find_client("cursor"), _at(tmp_path)
    path = client.path(at)
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    path.chmod(0o444)
    plan = plan_install(client, at, COMMAND)
    if os.geteuid() == 0:  # root may write anything: what the system would have said
        monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(MachineryError, match="read-only"):
        write(plan)
    assert path.read_text() == "{}"
    assert list(path.parent.iterdir()) == [path]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)


@given(
    value=st.dictionaries(st.text(max_size=6), _JSON, max_size=4),
    servers=st.none() | st.dictionaries(st.text(max_size=6), st.dictionaries(st.text(max_size=3), _JSON), max_size=3),
    indent=st.none() | st.integers(0, 4),
)
def test_any_json_keeps_its_value(value: dict[str, Any], servers: dict[str, Any] | None, indent: int | None) -> None:
    value.pop("mcpServers", None)
    if servers is not None:
        servers.pop("maxkernel", None)
        value["mcpServers"] = servers
    text = json.dumps(value, indent=indent)
    entry = {"command": "x", "args": []}
    added = jsonc.put(text, "mcpServers", "maxkernel", entry)
    assert json.loads(added) == {**value, "mcpServers": {**value.get("mcpServers", {}), "maxkernel": entry}}
    removed = json.loads(jsonc.take(added, "mcpServers", "maxkernel"))
    assert removed == {**value, "mcpServers": value.get("mcpServers", {})}


@given(st.text(alphabet='{}[]",:/* \n\\ax1', max_size=40))
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        added = jsonc.put(text, "s", "n", {"a": 1})
    except jsonc.BrokenError:
        return
    # What was accepted and is sound must still be sound; what is not is caught before anything is written.
    try:
        before = jsonc.parse(text) if text.strip() else {}
    except jsonc.BrokenError:
        return
    assert jsonc.parse(added) == {**before, "s": {**before.get("s", {}), "n": {"a": 1}}}


def _maxkernel(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = python_environment(home / "lab") | {"HOME": str(home)}
    command = [sys.executable, "-m", "maxkernel_mcp", "install", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=home, timeout=60, check=False)


def test_the_command_shows_writes_and_undoes(tmp_path: Path) -> None:
    shown = _maxkernel(tmp_path, "cursor", "--root", str(tmp_path))
    path = tmp_path / ".cursor" / "mcp.json"
    assert shown.returncode == 0, shown.stderr
    assert "--write" in shown.stdout
    assert not path.exists()
    done = _maxkernel(tmp_path, "cursor", "--root", str(tmp_path), "--write", "--json")
    assert json.loads(done.stdout)["written"] is True
    entry = json.loads(path.read_text())["mcpServers"]["maxkernel"]
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-2:] == ["--root", str(tmp_path)]
    assert _maxkernel(tmp_path, "cursor", "--undo").returncode == 0
    assert not path.exists()
    remote = _maxkernel(tmp_path, "codex", "--connect", "ssh:lab", "--write")
    assert remote.returncode == 0, remote.stderr
    assert tomli.loads((tmp_path / ".codex" / "config.toml").read_text())["mcp_servers"]["maxkernel"]["args"][-2:] == [
        "connect",
        "ssh:lab",
    ]
    wrong = _maxkernel(tmp_path, "claude-desk")
    assert wrong.returncode == 2
    assert "Did you mean claude-desktop" in wrong.stderr
