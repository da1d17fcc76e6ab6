"""The ``maxkernel`` command: the lab's other face. The only room that prints."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from maxkernel_tools.errors import MaxKernelError, MisuseError

OK, ANSWER_IS_NO, MISUSE, MACHINERY, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes: done; the answer is no; the call was wrong; the lab failed; stopped from the keyboard."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    from maxkernel_mcp.cli.parser import build_parser  # noqa: PLC0415 - entry point: nothing is imported before it runs

    options = build_parser().parse_args(argv)
    try:
        return int(options.run(options))
    except (MaxKernelError, KeyboardInterrupt) as error:
        return _failed(error)
    except BaseExceptionGroup as group:
        known = group.subgroup((MaxKernelError, KeyboardInterrupt))
        if known is None:
            raise
        return _failed(_first(known))


def _failed(error: BaseException) -> int:
    """Say what went wrong and return the exit code it stands for."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    print(f"maxkernel: {error}", file=sys.stderr)
    return MISUSE if isinstance(error, MisuseError) else MACHINERY


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner  # pyright: ignore[reportUnknownArgumentType]
