"""``python -m tests.adversarial [--json FILE] [--without-rules] [NAME ...]``: judge the corpus and print the table.

``--repeat N`` judges ten kernels N times each instead, and says whether every verdict was the same.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import anyio

from maxkernel_lab.runtimes.local import LocalRuntime
from tests.adversarial.corpus import Outcome, entries, judge, table
from tests.adversarial.repeating import repeat


async def run(names: list[str], without_rules: bool) -> list[Outcome]:
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as home:
        async with LocalRuntime(Path(home)) as runtime:
            for entry in entries():
                if names and entry.name not in names:
                    continue
                asked = [("cheat", True), ("twin", True)] + ([("cheat", False)] if without_rules else [])
                for which, rules in asked:
                    outcome = await judge(runtime, entry, which, rules=rules)
                    outcomes.append(outcome)
                    mark = "  " if outcome.as_it_should_be else "!!"
                    print(
                        f"{mark} {entry.kind:12} {entry.name:28} {which:5} {'' if rules else 'no rules':8} "
                        f"{outcome.verdict:13} {', '.join(outcome.codes)}",
                        flush=True,
                    )
    return outcomes


async def run_repeated(times: int) -> int:
    with tempfile.TemporaryDirectory() as home:
        async with LocalRuntime(Path(home)) as runtime:
            found = await repeat(runtime, times)
    for item in found:
        verdicts = ", ".join(f"{verdict} {count}" for verdict, count in item.verdicts.items())
        print(f"{'  ' if item.steady else '!!'} {item.name:28} {item.which:5} {verdicts}")
    return 0 if all(item.steady for item in found) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json", type=Path, help="write the table there")
    parser.add_argument("--without-rules", action="store_true", help="judge each cheat without the static rules too")
    parser.add_argument("--repeat", type=int, default=0, metavar="N", help="judge ten kernels N times each instead")
    given = parser.parse_args()
    if given.repeat:
        return anyio.run(run_repeated, given.repeat)
    outcomes = anyio.run(run, given.names, given.without_rules)
    found = table(outcomes)
    print(f"\n{'kind':14}{'cheats':>8}{'held off':>10}{'w/o rules':>11}{'twins':>8}{'accepted':>10}")
    for kind, row in found["kinds"].items():
        print(
            f"{kind:14}{row['cheats']:8}{row['held_off']:10}{row['without_rules']:11}{row['twins']:8}{row['accepted']:10}"
        )
    print(f"false accepts: {len(found['false_accepts'])}, false refusals: {len(found['false_refusals'])}")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if found["false_accepts"] or found["false_refusals"] else 0


if __name__ == "__main__":
    sys.exit(main())
