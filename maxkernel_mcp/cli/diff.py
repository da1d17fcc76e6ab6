"""``maxkernel diff A B``: the tool for a person, and for CI through its exit code.

Exit codes: 0 compared, and no condition of ``--fail-on`` is met; 1 a condition is met, or nothing could be compared or
judged (never a pass); 2 the call was wrong; 3 the lab failed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import anyio

import jaxbench
from maxkernel_lab.lab import Lab
from maxkernel_lab.settings import Settings, load_settings
from maxkernel_mcp.cli import ANSWER_IS_NO, OK
from maxkernel_mcp.cli.printing import shell_progress
from maxkernel_mcp.cli.tools import report, tool_arguments
from maxkernel_mcp.logs import configure_logging
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.diffs import DiffResult, DiffRow

_COPIES: Final = {"html": "diff.html", "csv": "diff.csv"}


def diff(options: argparse.Namespace) -> int:
    """Compare two captures or runs; see the module for exit codes."""
    from maxkernel_tools.diffing.gating import judge_condition, parse_condition  # noqa: PLC0415 - when called

    conditions = [parse_condition(text) for text in options.fail_on]
    copies = _copies(options)
    settings = _settings(options)
    result, rows = anyio.run(_call, tool_arguments("diff_traces", options), settings, options.json, copies)
    code = report(result, as_json=options.json)
    if not isinstance(result, DiffResult) or result.state == "failed" or result.run_id is None:
        return code
    gates = [judge_condition(condition, result, rows) for condition in conditions]
    for gate in gates:
        print(f"{gate.outcome}: {gate.message}", file=sys.stderr if options.json else sys.stdout)
    return code if all(gate.outcome == "passed" for gate in gates) else ANSWER_IS_NO if code == OK else code


def _copies(options: argparse.Namespace) -> dict[str, Path]:
    copies = {name: Path(getattr(options, kind)) for kind, name in _COPIES.items() if getattr(options, kind)}
    for path in copies.values():
        if not path.absolute().parent.is_dir():
            raise MisuseError(
                f"There is no folder for {str(path)!r}.", allowed="a path in a folder.", action="Make it."
            )
    return copies


def _settings(options: argparse.Namespace) -> Settings:
    """Return the settings of this command: captures a person names on the command line may be read."""
    named = [Path(text).absolute() for text in (options.baseline, options.candidate)]
    roots = [path if path.is_dir() else path.parent for path in named if path.exists()]
    # A link a person names is meant with what it leads to.
    roots += [path.resolve() if path.is_dir() else path.resolve().parent for path in named if path.exists()]
    settings = load_settings(flags={"home": options.home}, extra_roots=roots)
    configure_logging(settings.server_log_level)
    return settings


async def _call(
    arguments: Mapping[str, Any], settings: Settings, quiet: bool, copies: Mapping[str, Path]
) -> tuple[Any, list[DiffRow]]:
    async with Lab.open(settings, jaxbench.task_roots()) as lab:
        with shell_progress(enabled=not quiet) as progress:
            result = await lab.call("diff_traces", arguments, progress)
        if not isinstance(result, DiffResult) or result.run_id is None:
            return result, []
        for name, path in copies.items():
            found = lab.services.store.artifact_path(result.run_id, name)
            if found is not None:
                await anyio.to_thread.run_sync(_copy, found[0], path)
        table = lab.services.store.artifact_path(result.run_id, "diff.json")
        rows = await anyio.to_thread.run_sync(_rows, table[0]) if table and not result.schedule else []
        return result, rows


def _copy(source: Path, path: Path) -> None:
    try:
        shutil.copyfile(source, path)
    except OSError as error:
        raise MisuseError(
            f"Cannot write {str(path)!r}: {error.strerror}.", allowed="a writable file.", action="Name another."
        ) from None


def _rows(file: Path) -> list[DiffRow]:
    content = json.loads(file.read_text(encoding="utf-8"))
    return [DiffRow.model_validate(row) for row in content["rows"]]
