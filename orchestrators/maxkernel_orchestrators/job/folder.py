"""The job's folder as its owner uses it: the lock, what others may read, and the way files are replaced."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maxkernel_orchestrators.job.config import JobConfig
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.jobs import BestSoFar, CostLedger, JobProgress

_LOCK_TRIES = 40
_LOCK_PAUSE_S = 0.05


class JobFolder:
    """A job's folder, owned by this process while ``own`` holds.

    Args:
        path: the folder, holding ``config.json``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def job_id(self) -> str:
        """The job's id: the folder's name."""
        return self.path.name

    def read_config(self) -> JobConfig:
        """Read ``config.json``.

        Raises:
            MisuseError: there is none, or it is not one.
        """
        try:
            return JobConfig.model_validate_json((self.path / "config.json").read_bytes())
        except (OSError, ValueError) as error:
            raise MisuseError(
                f"{self.path} is not a job folder: {error}",
                allowed="a folder with config.json, as `maxkernel optimize` and start_optimization make it.",
                action="Start the optimisation with one of these.",
            ) from error

    def own(self) -> int:
        """Take the lock that marks the job as running; it is held until this process ends.

        Raises:
            MisuseError: another process owns the job.
        """
        descriptor = os.open(self.path / "owner.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        for _ in range(_LOCK_TRIES):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                # Readers hold it for microseconds to see whether we live; an owner that was killed may take a moment.
                time.sleep(_LOCK_PAUSE_S)
            else:
                return descriptor
        os.close(descriptor)
        raise MisuseError(
            f"Job {self.job_id} is being worked on by another process.",
            allowed="one owner at a time.",
            action="Wait for it with get_job, or stop it with cancel_job.",
        )

    def result(self) -> dict[str, Any] | None:
        """The result, where an earlier session wrote one."""
        try:
            return json.loads((self.path / "result.json").read_bytes())
        except (OSError, ValueError):
            return None

    def write_progress(self, progress: JobProgress, best: BestSoFar | None, cost: CostLedger) -> None:
        """Replace what ``get_job`` shows."""
        record = {
            "progress": progress.model_dump(mode="json"),
            "best": best.model_dump(mode="json") if best else None,
            "cost": cost.model_dump(mode="json"),
        }
        self.write("progress.json", json.dumps(record, indent=1))

    def write_result(self, result: Mapping[str, Any]) -> None:
        """Write the answer; from here on the job is done."""
        self.write("result.json", json.dumps(result, indent=1))

    def write(self, name: str, text: str) -> Path:
        """Replace a file of the folder: readers see the old text or the new, never a part."""
        path = self.path / name
        temporary = path.with_name(f".{name}.{os.getpid()}")
        with temporary.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
        return path

    def log(self, event: str, **facts: Any) -> None:
        """Append a line to ``log.jsonl``."""
        line = json.dumps({"at": round(time.time(), 3), "event": event, **facts}, default=str)
        with (self.path / "log.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")
