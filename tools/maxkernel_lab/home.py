"""The lab's folder on disk: which path holds what. Owns the layout, not the contents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Home:
    """Layout of ``$MAXKERNEL_HOME``.

    Attributes:
        root: absolute folder; made on first use with mode 0700, because kernels and results are the user's own.
    """

    root: Path

    @property
    def database(self) -> Path:
        """The run store."""
        return self.root / "store.sqlite3"

    @property
    def artifacts(self) -> Path:
        """Content-addressed artifact files."""
        return self.root / "artifacts"

    @property
    def jobs(self) -> Path:
        """One folder per job."""
        return self.root / "jobs"

    @property
    def cache(self) -> Path:
        """Compile cache; safe to delete while no lab runs."""
        return self.root / "cache"

    @property
    def tuned(self) -> Path:
        """What the autotuner learned, by chip, kernel and shape."""
        return self.root / "tuned"

    @property
    def slots(self) -> Path:
        """Admission lock files shared by all labs of the user."""
        return self.root / "slots"

    @property
    def results_csv(self) -> Path:
        """One line per run, written from the store."""
        return self.root / "results.csv"

    def ensure(self) -> Home:
        """Make the folders that must exist and return this layout."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        for folder in (self.artifacts, self.jobs, self.cache, self.slots):
            folder.mkdir(exist_ok=True, mode=0o700)
        return self
