"""The ``maxkernel`` command: the lab's other face. The only room that prints."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from maxkernel_tools.errors import MachineryError, MisuseError

OK, ANSWER_IS_NO, MISUSE, MACHINERY = 0, 1, 2, 3
"""Exit codes: done; the answer is no; the call was wrong; the lab failed."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    from maxkernel_mcp.cli.parser import build_parser  # noqa: PLC0415 - entry point: nothing is imported before it runs

    options = build_parser().parse_args(argv)
    try:
        return int(options.run(options))
    except MisuseError as error:
        print(f"maxkernel: {error}", file=sys.stderr)
        return MISUSE
    except MachineryError as error:
        print(f"maxkernel: {error}", file=sys.stderr)
        return MACHINERY
    except KeyboardInterrupt:
        return 130
