"""``maxkernel install``: this server in an MCP client's settings."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from maxkernel_lab.platforms import find_compiler
from maxkernel_mcp.cli import OK
from maxkernel_mcp.connecting import parse_place
from maxkernel_mcp.installing import Plan, Surroundings, Written, find_client, plan_install, plan_undo, write
from maxkernel_tools.errors import MisuseError


def install(options: argparse.Namespace) -> int:
    """Show the change, or write or undo it."""
    client = find_client(options.client)
    if options.write and options.undo:
        raise MisuseError("--write and --undo.", allowed="one of them, or neither to look.", action="Choose one.")
    surroundings = Surroundings(
        platform=sys.platform,
        home=Path.home(),
        folder=Path(options.folder or ".").absolute(),
        environ=os.environ,
    )
    command = server_command(options)
    plan = plan_undo(client, surroundings) if options.undo else plan_install(client, surroundings, command)
    written = write(plan) if plan.changes and (options.write or options.undo) else None
    if options.json:
        sys.stdout.write(json.dumps(_as_json(plan, written), ensure_ascii=False) + "\n")
    else:
        _tell(plan, written, options)
    return OK


def server_command(options: argparse.Namespace) -> list[str]:
    """Return the command a client starts: absolute, since clients with a window do not inherit PATH."""
    script = Path(sys.executable).parent / ("maxkernel.exe" if sys.platform == "win32" else "maxkernel")
    program = [str(script)] if script.is_file() else [sys.executable, "-P", "-m", "maxkernel_mcp"]
    if options.connect:
        parse_place(options.connect)
        token = ["--token-file", str(Path(options.token_file).absolute())] if options.token_file else []
        return [*program, "connect", options.connect, *token]
    home = ["--home", str(Path(options.home).expanduser().absolute())] if options.home else []
    roots = [part for root in options.roots for part in ("--root", str(_folder(root)))]
    return [*program, "serve", *home, *roots]


def _folder(text: str) -> Path:
    path = Path(text).expanduser().resolve()
    if not path.is_dir():
        raise MisuseError(
            f"--root {text!r} is no folder ({path}).", allowed="an existing folder.", action="Correct it."
        )
    return path


def _as_json(plan: Plan, written: Written | None) -> dict[str, object]:
    return {
        "ok": True,
        "client": plan.client.name,
        "path": str(plan.path),
        "changes": plan.changes,
        "diff": plan.diff,
        "written": written is not None,
        "backup": str(written.backup) if written and written.backup else None,
    }


def _tell(plan: Plan, written: Written | None, options: argparse.Namespace) -> None:
    if not plan.changes:
        print(f"{plan.client.title}: nothing to do in {plan.path}.")
        return
    print(plan.diff)
    if written is None:
        print(f"Nothing is written yet. Run the same with --write to change {plan.path}.")
        return
    print(f"Written: {plan.path}." + (f" As it was: {written.backup}." if written.backup else ""))
    print(plan.client.after)
    if not (options.undo or options.connect or find_compiler().available):
        print("There is no TPU compiler on this machine: use --connect ssh:HOST or --connect URL for a lab elsewhere.")
