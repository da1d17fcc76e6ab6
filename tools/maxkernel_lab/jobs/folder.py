"""One job's folder, as every process of the user reads it.

``config.json`` (what to do), ``owner.lock`` (held by who does it), ``progress.json``, ``result.json``,
``cancel.json`` (somebody wants it to stop), ``log.jsonl``, ``last-words.txt``. The state is derived, never stored:
with a result a job is done or failed; without one it runs while the lock is held, and is cancelled or interrupted once
it is free.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from pydantic import ValidationError

from maxkernel_lab.locks import is_locked, try_lock, write_atomically
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.jobs import BestSoFar, CostLedger, JobProgress, JobResult, JobState

CONFIG: Final = "config.json"
OWNER: Final = "owner.lock"
PROGRESS: Final = "progress.json"
RESULT: Final = "result.json"
CANCEL: Final = "cancel.json"
LOG: Final = "log.jsonl"
LAST_WORDS: Final = "last-words.txt"

_Part = TypeVar("_Part", JobProgress, BestSoFar, CostLedger)


def new_job_id() -> str:
    """Return a fresh job id."""
    return "j-" + secrets.token_hex(6)


class JobFolder:
    """The folder of one job.

    Args:
        path: the folder; ``create`` makes one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, jobs: Path, config: Mapping[str, Any], *, job_id: str | None = None) -> JobFolder:
        """Make the folder of a new job. It appears whole or not at all."""
        name = job_id or new_job_id()
        staging = jobs / f".{name}"
        staging.mkdir(mode=0o700)
        write_atomically(staging / CONFIG, _json(config))
        (staging / OWNER).touch(mode=0o600)
        staging.rename(jobs / name)
        return cls(jobs / name)

    @classmethod
    def find(cls, jobs: Path, job_id: str) -> JobFolder:
        """Return the folder of ``job_id``.

        Raises:
            MisuseError: there is no such job.
        """
        plain = job_id.startswith("j-") and job_id[2:].isalnum()
        if not plain or not (jobs / job_id / CONFIG).is_file():
            known = sorted(path.name for path in jobs.glob("j-*"))[-5:]
            raise MisuseError(
                f"Unknown job {job_id!r}.",
                allowed="the id a call returned; known here: " + (", ".join(known) or "none yet") + ".",
                action="Use the job_id of the call that became a job.",
            )
        return cls(jobs / job_id)

    @property
    def job_id(self) -> str:
        """The job's id."""
        return self.path.name

    @property
    def config(self) -> dict[str, Any]:
        """What the job was asked to do."""
        return _read(self.path / CONFIG) or {}

    @property
    def kind(self) -> str:
        """``call`` for a tool call that took long, ``optimization`` for an orchestrator."""
        return str(self.config.get("kind", "optimization"))

    @property
    def result(self) -> dict[str, Any] | None:
        """What it answered, once it has."""
        return _read(self.path / RESULT)

    @property
    def cancel_requested(self) -> bool:
        """Whether somebody asked it to stop."""
        return (self.path / CANCEL).exists()

    def lock(self) -> int | None:
        """Become the owner: a descriptor to keep open, or None while another process owns it."""
        return try_lock(self.path / OWNER)

    @property
    def owned(self) -> bool:
        """Whether a living process owns it."""
        return is_locked(self.path / OWNER)

    def state(self) -> JobState:
        """Return how the job stands."""
        owned = self.owned
        # Read after the lock: a job that ended between the two has its result written before its lock is freed.
        result = self.result
        if result is not None:
            return "failed" if result.get("state") == "failed" else "done"
        if owned:
            return "running"
        return "cancelled" if self.cancel_requested else "interrupted"

    def write_progress(
        self, progress: JobProgress, best: BestSoFar | None = None, cost: CostLedger | None = None
    ) -> None:
        """Replace the progress others see."""
        record = {
            "progress": progress.model_dump(mode="json"),
            "best": best.model_dump(mode="json") if best else None,
            "cost": (cost or CostLedger()).model_dump(mode="json"),
        }
        write_atomically(self.path / PROGRESS, _json(record))

    def write_result(self, result: Mapping[str, Any]) -> None:
        """Write the answer; the job is done from here on."""
        write_atomically(self.path / RESULT, _json(result))

    def request_cancel(self) -> None:
        """Ask the owner, whoever it is, to stop."""
        write_atomically(self.path / CANCEL, _json({"requested": True}))

    def reopen(self) -> None:
        """Forget a request to stop and an answer that was a failure, before the job is taken up again."""
        (self.path / CANCEL).unlink(missing_ok=True)
        result = self.result
        if result is not None and result.get("state") == "failed":
            (self.path / RESULT).unlink(missing_ok=True)

    def note_last_words(self, text: str) -> None:
        """Keep what an owner said before it ended without an answer."""
        write_atomically(self.path / LAST_WORDS, text[-8000:].encode())

    def last_words(self) -> str:
        """Return the last line an owner said before it ended without an answer; empty where it said nothing."""
        try:
            lines = (self.path / LAST_WORDS).read_text(encoding="utf-8", errors="replace").strip().splitlines()
        except OSError:
            return ""
        return lines[-1][:300] if lines else ""

    def report(self) -> JobResult:
        """Return what ``get_job`` answers."""
        state = self.state()
        result = self.result
        seen = _read(self.path / PROGRESS) or {}
        progress = _part(JobProgress, seen.get("progress", seen)) or JobProgress()
        best = _part(BestSoFar, seen.get("best"))
        cost = _part(CostLedger, seen.get("cost")) or CostLedger()
        answered = result.get("ok") if result else None
        ok = answered if isinstance(answered, bool) else None
        return JobResult(
            ok=ok if state in {"done", "failed"} else (None if state == "running" else False),
            state="running" if state == "running" else ("failed" if state == "failed" else "done"),
            job_id=self.job_id,
            run_id=_text(result, "run_id") or (best.run_id if best else None),
            summary=self._summary(state, result, progress),
            job_state=state,
            kind=self.kind,
            progress=progress,
            best=best,
            cost=cost,
            result=result,
        )

    def _summary(self, state: JobState, result: Mapping[str, Any] | None, progress: JobProgress) -> str:
        if result is not None:
            return _text(result, "summary") or f"The job is {state}."
        where = f" ({progress.stage}: {progress.message})" if progress.stage or progress.message else ""
        if state == "running":
            return f"Running{where}." if not self.cancel_requested else f"Stopping{where}."
        if state == "cancelled":
            return f"Cancelled{where}. resume_job continues it."
        said = self.last_words()
        words = f" Its last words: {said}" if said else ""
        return f"Interrupted: its owner ended before it was done{where}.{words} resume_job continues it."


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=1).encode() + b"\n"


def _read(path: Path) -> dict[str, Any] | None:
    try:
        value: object = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _text(value: Mapping[str, Any] | None, key: str) -> str | None:
    found = value.get(key) if value else None
    return found if isinstance(found, str) else None


def _part(model: type[_Part], value: object) -> _Part | None:
    try:
        return model.model_validate(value) if isinstance(value, dict) else None
    except ValidationError:
        return None
