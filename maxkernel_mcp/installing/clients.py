"""Which clients there are, where each keeps its settings per operating system, and the form of an entry."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from maxkernel_tools.errors import MisuseError

ENTRY: Final = "maxkernel"
STARTUP_S: Final = 60
"""Time a client should give the server to start; a cold disk takes a while."""
CALL_S: Final = 90
"""And for a call: none blocks longer than 45 s."""


@dataclass(frozen=True)
class Surroundings:
    """The machine as far as clients' settings depend on it.

    Attributes:
        platform: ``sys.platform``.
        home: the user's home folder. folder: the project a client of the project is meant for.
        environ: variables that move settings (``APPDATA``, ``XDG_CONFIG_HOME``, ``CODEX_HOME``).
    """

    platform: str
    home: Path
    folder: Path
    environ: Mapping[str, str]

    def application_data(self) -> Path:
        """The folder desktop applications keep their settings in."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return Path(self.environ.get("APPDATA") or self.home / "AppData" / "Roaming")
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")


@dataclass(frozen=True)
class Client:
    """One client.

    Attributes:
        name: on the command line. title: for people.
        path: where its settings are.
        form: the file's form; ``jsonc`` is JSON that may hold comments.
        section: the object that holds servers.
        entry: makes the entry out of the command line.
        after: what a person does for the change to take effect.
    """

    name: str
    title: str
    path: Callable[[Surroundings], Path]
    form: Literal["jsonc", "toml"]
    section: str
    entry: Callable[[list[str]], dict[str, Any]]
    after: str


def _plain(command: list[str]) -> dict[str, Any]:
    return {"command": command[0], "args": command[1:]}


def _typed(command: list[str]) -> dict[str, Any]:
    return {"type": "stdio", **_plain(command)}


def _gemini(command: list[str]) -> dict[str, Any]:
    return {**_plain(command), "timeout": CALL_S * 1000}


def _codex(command: list[str]) -> dict[str, Any]:
    return {**_plain(command), "startup_timeout_sec": STARTUP_S, "tool_timeout_sec": CALL_S}


CLIENTS: Final = (
    Client(
        name="claude-desktop",
        title="Claude Desktop",
        path=lambda at: at.application_data() / "Claude" / "claude_desktop_config.json",
        form="jsonc",
        section="mcpServers",
        entry=_plain,
        after="Quit Claude Desktop entirely and start it again.",
    ),
    Client(
        name="claude-code",
        title="Claude Code",
        path=lambda at: at.home / ".claude.json",
        form="jsonc",
        section="mcpServers",
        entry=_typed,
        after="Start a new session; /mcp shows the server.",
    ),
    Client(
        name="cursor",
        title="Cursor",
        path=lambda at: at.home / ".cursor" / "mcp.json",
        form="jsonc",
        section="mcpServers",
        entry=_plain,
        after="Switch the server on in Cursor's settings under MCP.",
    ),
    Client(
        name="vscode",
        title="VS Code",
        path=lambda at: at.folder / ".vscode" / "mcp.json",
        form="jsonc",
        section="servers",
        entry=_typed,
        after="Open the file in VS Code and press Start above the entry.",
    ),
    Client(
        name="gemini",
        title="Gemini CLI",
        path=lambda at: at.home / ".gemini" / "settings.json",
        form="jsonc",
        section="mcpServers",
        entry=_gemini,
        after="Start a new session; /mcp shows the server.",
    ),
    Client(
        name="codex",
        title="Codex",
        path=lambda at: Path(at.environ.get("CODEX_HOME") or at.home / ".codex") / "config.toml",
        form="toml",
        section="mcp_servers",
        entry=_codex,
        after="Start a new session.",
    ),
)


def find_client(name: str) -> Client:
    """Return the client called ``name``.

    Raises:
        MisuseError: there is none.
    """
    names = [client.name for client in CLIENTS]
    wanted = name.lower().replace("_", "-").replace(" ", "-")
    for client in CLIENTS:
        if wanted in {client.name, client.title.lower().replace(" ", "-")}:
            return client
    close = difflib.get_close_matches(wanted, names, n=1)
    raise MisuseError(
        f"No client is called {name[:80]!r}.",
        allowed=", ".join(names) + ".",
        action=f"Did you mean {close[0]}?" if close else "For others, see the README for the entry to add by hand.",
    )
