"""Finds what one compile left in a dump folder: files by program and kind, gzip'd or not, time-stamped or not."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from pathlib import Path

from maxkernel_tools.schedule.unknown import UnknownFormatError

# 1796072688154054384-workload.1-07-final_bundles.txt ; the stamp may have been cut off, ".gz" may follow.
_NAME = re.compile(
    r"^(?:\d{12,}-)?(?P<program>.+?)-(?:(?P<order>\d\d)-)?(?P<kind>[a-zA-Z_][\w\-]*)\.(?:txt|html)(?:\.gz)?$"
)
_KINDS = {
    "final_bundles": "final_bundles",
    "post-ra": "post_ra",
    "final_hlo-static-per-bundle-utilization": "utilization",
    "schedule-analysis_final_bundles": "analysis",
    "vmem_report": "vmem_report",
    "deduplication-map": "deduplication",
    "hlo": "hlo",
}
TOP_LEVEL = "TLP"
"""Name of the program that calls all others."""

MAX_TEXT_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True)
class DumpFolder:
    """The files of one compile.

    Attributes:
        files: by (program, kind); kinds are the values of the table above.
    """

    root: Path
    files: dict[tuple[str, str], Path]

    @classmethod
    def open(cls, root: Path) -> DumpFolder:
        """Index ``root`` (not recursive). A folder without a schedule is no error; ``programs`` is then empty."""
        files: dict[tuple[str, str], Path] = {}
        for path in sorted(root.iterdir()) if root.is_dir() else ():
            match = _NAME.match(path.name)
            kind = _KINDS.get(match.group("kind")) if match else None
            if match and kind:
                files[match.group("program"), kind] = path
        return cls(root, files)

    @property
    def programs(self) -> list[str]:
        """Names of fusions and kernels that have a final schedule, the top level left out."""
        return [program for program, kind in self.files if kind == "final_bundles" and program != TOP_LEVEL]

    def has(self, program: str, kind: str) -> bool:
        """Whether ``program`` has a dump of ``kind``."""
        return (program, kind) in self.files

    def text(self, program: str, kind: str) -> str:
        """Return the text of one dump.

        Raises:
            UnknownFormatError: the file is not there, is not text, or is beyond reason large.
        """
        path = self.files.get((program, kind))
        if path is None:
            raise UnknownFormatError(kind, f"{program} has none")
        try:
            if path.suffix == ".gz":
                with gzip.open(path, "rb") as stream:
                    data = stream.read(MAX_TEXT_BYTES + 1)
            else:
                with path.open("rb") as stream:
                    data = stream.read(MAX_TEXT_BYTES + 1)
        except (OSError, EOFError) as error:
            raise UnknownFormatError(kind, f"{path.name} cannot be read ({error})") from error
        if len(data) > MAX_TEXT_BYTES:
            raise UnknownFormatError(kind, f"{path.name} is larger than {MAX_TEXT_BYTES} bytes")
        return data.decode("utf-8", errors="replace")
