"""Keeps what the schedule model reads of the compiler's dumps, and deletes the rest.

The compiler writes one file per pass and op, its name starting with a time stamp. Kept are the final schedule, the
region tree, unit use, schedule analysis, the HLO of the whole program and which ops share a schedule.
"""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path
from typing import Final

_STAMP: Final = re.compile(r"^\d{10,}-")
_KEPT: Final = re.compile(
    r"(-\d+-final_bundles\.txt"
    r"|-\d+-post-ra\.txt"
    r"|-final_hlo-static-per-bundle-utilization\.txt"
    r"|-schedule-analysis_final_bundles\.txt"
    r"|TLP-hlo\.txt"
    r"|deduplication-map\.txt"
    r"|vmem_report\.html)$"
)


def collect(dump: Path, out: Path) -> None:
    """Move the files worth keeping from ``dump`` to ``out``, gzipped, and empty ``dump``."""
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(dump.rglob("*")) if dump.is_dir() else []:
        if not path.is_file():
            continue
        name = _STAMP.sub("", path.name)
        if _KEPT.search(name) and not name.startswith("."):
            # Two modules of one compile may dump ops of one name; the later stamp is the final one.
            _compress(path, out / f"{name}.gz")
        path.unlink()
    for path in list(dump.iterdir()) if dump.is_dir() else []:
        shutil.rmtree(path, ignore_errors=True)


def collect_passes(written: Path, out: Path) -> None:
    """Move every pass from ``written`` to ``out``, gzipped, by the compiler's name for it, and empty ``written``."""
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(written.rglob("*")):
        if path.is_file():
            name = _STAMP.sub("", str(path.relative_to(written)).replace("/", "-"))
            _compress(path, out / f"{name}.gz")
    for path in list(written.iterdir()):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def _compress(path: Path, target: Path) -> None:
    with path.open("rb") as source, gzip.GzipFile(target, "wb", compresslevel=1, mtime=0) as sink:
        shutil.copyfileobj(source, sink, 1 << 20)
