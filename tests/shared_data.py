"""Where the handed data lies, for tests that read it. They skip, with the reason, where it is absent."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared_path(*parts: str) -> Path:
    """Return a path under the shared folder beside the checkout; skip the calling test where it is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"shared data absent: {'/'.join(('shared', *parts))}")
    return path
