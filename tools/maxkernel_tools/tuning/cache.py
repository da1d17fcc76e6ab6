"""Keeps what was learned by chip, kernel and shape, one JSON file each: a later call starts where this one ended."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maxkernel_tools.context import KernelCall
from maxkernel_tools.records.kernels import ParamValue, params_key
from maxkernel_tools.records.targets import Target
from maxkernel_tools.records.tuning import ConfigReport


class TuningCache:
    """Timed configurations on disk.

    Args:
        root: folder of the cache; made on first use.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, call: KernelCall, target: Target, versions: Mapping[str, str]) -> Path:
        """Return the file for one kernel on one shape, chip and compiler."""
        inputs = ",".join(map(str, call.workload.inputs))
        pinned = params_key(call.params)
        compiler = json.dumps(dict(versions), sort_keys=True)
        digest = hashlib.sha256(f"{call.kernel.sha256}\n{inputs}\n{pinned}\n{compiler}".encode()).hexdigest()[:24]
        return self._root / target.value / f"{digest}.json"

    def load(self, path: Path) -> dict[str, ConfigReport]:
        """Return what is known, by canonical parameters; a damaged file counts as empty."""
        try:
            entries: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
            reports = [ConfigReport.model_validate(entry) for entry in entries]
        except (OSError, ValueError):
            return {}
        return {params_key(report.params): report for report in reports}

    def save(self, path: Path, reports: Mapping[str, ConfigReport]) -> None:
        """Write atomically what was learned so far."""
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.partial")
        partial.write_text(
            json.dumps([report.model_dump(mode="json") for report in reports.values()]), encoding="utf-8"
        )
        partial.replace(path)

    def best(self, call: KernelCall, target: Target, versions: Mapping[str, str]) -> dict[str, ParamValue] | None:
        """Return the fastest configuration known, without running anything."""
        timed = [report for report in self.load(self.path(call, target, versions)).values() if report.time_us]
        return min(timed, key=lambda report: report.time_us or 0.0).params if timed else None
