"""Receipts: hashes that an accepted verdict rests on, and their recomputation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, get_args

from maxkernel_tools.context import KernelCall
from maxkernel_tools.records.kernels import params_key
from maxkernel_tools.records.targets import Target
from maxkernel_tools.records.verdicts import Difference, Receipt, TestLevel
from maxkernel_tools.runtime import InterpretOptions

_ROOM: Final = Path(__file__).resolve().parent.parent
_GRADER: Final = ("checking", "guards", "worker/interpreting", "worker/referencing", "worker/inspecting")
_SHOWN: Final = 16
_POLICY: Final = ("checking/tolerance.py", "checking/comparing.py", "checking/planning.py", "checking/shapes.py")


def receipt(
    call: KernelCall,
    *,
    level: TestLevel,
    target: Target,
    options: Iterable[InterpretOptions],
    versions: Mapping[str, str],
    seeds: Iterable[int],
    imported_files: Mapping[str, str],
) -> Receipt:
    """Return the receipt of a verdict on ``call``."""
    return Receipt(
        candidate_sha256=candidate_hash(call),
        task_sha256=workload_hash(call),
        policy_sha256=_hash_files(_POLICY),
        grader_sha256=_hash_files(_GRADER),
        flags=_flags(level, target, options),
        versions=dict(versions),
        seed_commitment=commitment(seeds),
        imported_files=dict(imported_files),
    )


def candidate_hash(call: KernelCall) -> str:
    """Hash of the kernel's text and its parameters."""
    return _sha(call.kernel.text + "\0" + params_key(call.params))


def workload_hash(call: KernelCall) -> str:
    """Hash of the task, or of reference and inputs where there is no task."""
    workload = call.workload
    inputs = ",".join(str(spec) for spec in workload.inputs)
    base = workload.task.sha256 if workload.task else (workload.reference.sha256 if workload.reference else "none")
    return _sha(f"{base}\0{inputs}")


def commitment(seeds: Iterable[int]) -> str:
    """Hash of the seeds in order; the seeds stand beside the cases."""
    return _sha(",".join(str(seed) for seed in seeds))


def differences(
    old: Receipt, call: KernelCall, *, versions: Mapping[str, str], seeds: Iterable[int]
) -> tuple[Difference, ...]:
    """Recompute what ``old`` rests on and return what differs; empty where nothing does."""
    recomputed = {
        "the kernel": (old.candidate_sha256, candidate_hash(call)),
        "the task (or reference and inputs)": (old.task_sha256, workload_hash(call)),
        "the policy of inputs and tolerance": (old.policy_sha256, _hash_files(_POLICY)),
        "the grader": (old.grader_sha256, _hash_files(_GRADER)),
        "the seeds": (old.seed_commitment, commitment(seeds)),
    }
    found = [
        Difference(what=what, then=was[:_SHOWN], now=now[:_SHOWN])
        for what, (was, now) in recomputed.items()
        if was != now
    ]
    for name in sorted({*old.versions, *versions}):
        was, now = old.versions.get(name, "absent"), versions.get(name, "absent")
        if was != now:
            found.append(Difference(what=name, then=was, now=now))
    for name, digest in sorted(old.imported_files.items()):
        now = _imported(name, call.kernel.import_roots)
        if now != digest:
            found.append(Difference(what=f"the imported file {name}", then=digest[:_SHOWN], now=now[:_SHOWN]))
    return tuple(found)


def terms_of(old: Receipt) -> tuple[TestLevel, Target] | None:
    """Return the level and target of the verdict ``old`` belongs to, or None where its flags cannot be read."""
    try:
        flags: Any = json.loads(old.flags)
        level, target = flags["level"], Target(flags["target"])
    except (ValueError, KeyError, TypeError):
        return None
    return (level, target) if level in get_args(TestLevel) else None


def _imported(name: str, roots: Iterable[str]) -> str:
    """Hash of a file imported from one of ``roots`` as it is now; nothing outside them is read."""
    for root in roots:
        path = (Path(root) / name).resolve()
        if path.is_relative_to(Path(root).resolve()) and path.is_file():
            return hashlib.sha256(path.read_bytes()).hexdigest()
    return "absent"


def _flags(level: TestLevel, target: Target, options: Iterable[InterpretOptions]) -> str:
    distinct = {json.dumps(asdict(option), sort_keys=True) for option in options}
    return json.dumps({"level": level, "target": target.value, "interpret": sorted(distinct)})


def _hash_files(names: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for name in names:
        path = _ROOM / name
        files = [path] if path.suffix == ".py" else sorted(path.rglob("*.py"))
        for file in files:
            digest.update(str(file.relative_to(_ROOM)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
