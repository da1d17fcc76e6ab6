"""``python -m maxkernel_mcp``: the ``maxkernel`` command, for where the script is not on the path."""

from __future__ import annotations

import sys

from maxkernel_mcp.cli import main

if __name__ == "__main__":
    sys.exit(main())
