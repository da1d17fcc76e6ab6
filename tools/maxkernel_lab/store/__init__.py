"""The run store: SQLite for what is asked about, a content-addressed folder for what is long."""

from maxkernel_lab.store.artifacts import ArtifactFolder, RunArtifacts
from maxkernel_lab.store.identity import run_id_of
from maxkernel_lab.store.runs import RunRow, RunStore, StageRow

__all__ = ["ArtifactFolder", "RunArtifacts", "RunRow", "RunStore", "StageRow", "run_id_of"]
