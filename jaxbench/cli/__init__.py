"""The ``jaxbench`` command: list, show, run, evaluate, audit, accuracy, score. The third face of the lab."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from maxkernel_tools.errors import MachineryError, MisuseError

OK, ANSWER_IS_NO, MISUSE, MACHINERY, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes: done; the answer is no; the call was wrong; the lab failed; stopped by the person."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = build_parser().parse_args(argv)
    try:
        return int(options.run(options))
    except MisuseError as error:
        print(f"jaxbench: {error}", file=sys.stderr)
        return MISUSE
    except MachineryError as error:
        print(f"jaxbench: {error}", file=sys.stderr)
        return MACHINERY
    except BrokenPipeError:
        sys.stderr.close()
        return OK
    except KeyboardInterrupt:
        return INTERRUPTED


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the ``jaxbench`` command."""
    parser = argparse.ArgumentParser(
        prog="jaxbench", description="Kernel tasks for TPUs: references, a grader that is audited, scores."
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    listing = _verb(verbs, "list", "listing", "list_tasks", "list the tasks")
    listing.add_argument("query", nargs="?", default="", help="words in id, title or operator")
    listing.add_argument("--split", default="", help="jaxbench or models")
    showing = _verb(verbs, "show", "listing", "show_task", "show one task: semantics, sizes, times, flaws")
    showing.add_argument("task", metavar="ID", help="task id or task folder")
    showing.add_argument("--source", action="store_true", help="print the reference as well")

    running = _verb(verbs, "run", "running", "run", "time the references: measured on a TPU, else estimated")
    running.add_argument("tasks", nargs="*", metavar="ID", help="tasks; or --all")
    running.add_argument("--all", action="store_true", help="every task")
    running.add_argument("--fresh", action="store_true", help="do not take up earlier results, start over")
    _output_options(running)
    running.add_argument("--split", default="", help="with --all: only this split")

    evaluating = _verb(verbs, "evaluate", "evaluating", "evaluate", "grade a kernel: is it right, how fast is it")
    evaluating.add_argument("task", metavar="ID", help="task id or task folder")
    evaluating.add_argument("--kernel", required=True, metavar="FILE", help="file defining workload(*inputs, **PARAMS)")
    evaluating.add_argument("--level", default="quick", help="quick, full or sanitize")
    _output_options(evaluating)

    auditing = _verb(verbs, "audit", "auditing", "audit", "try trivial solutions against every task")
    auditing.add_argument("tasks", nargs="*", metavar="ID", help="tasks (default: all)")
    auditing.add_argument("--mode", choices=("both", "hardened", "classic"), default="both")
    auditing.add_argument("--output", default="", metavar="FILE", help="write the table here")
    auditing.add_argument("--jobs", type=int, default=0, metavar="N", help="processes at once (default: cores)")
    auditing.add_argument("--check", action="store_true", help="compare with the committed table")

    comparing = _verb(
        verbs, "accuracy", "accuracy", "accuracy", "how close the schedule model comes to published times"
    )
    comparing.add_argument(
        "--page", default="", metavar="FILE.md", help="write the tables between its markers, and the plot beside it"
    )

    scoring = _verb(verbs, "score", "grading", "print_score", "score the graded kernels of a results file")
    scoring.add_argument("results", metavar="RESULTS", help="results.json, results.csv or the folder that holds them")
    return parser


def _output_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", default="", metavar="TPU", help="v4 v5e v5p v6e tpu7x (default: the settings')")
    parser.add_argument("--mode", choices=("hardened", "classic"), default="hardened", help="input distributions")
    parser.add_argument("--output", default="", metavar="DIR", help="folder of results.csv and results.json")


def _verb(verbs: Any, name: str, module: str, function: str, help_text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=help_text, description=help_text)
    parser.set_defaults(run=_lazy(module, function))
    parser.add_argument("--json", action="store_true", help="print JSON, alone on standard output")
    parser.add_argument("--home", metavar="DIR", help="the lab's home (default $MAXKERNEL_HOME or ~/.maxkernel)")
    return parser


def _lazy(module: str, function: str) -> Callable[[argparse.Namespace], int]:
    def run(options: argparse.Namespace) -> int:
        return getattr(importlib.import_module(f"jaxbench.cli.{module}"), function)(options)

    return run
