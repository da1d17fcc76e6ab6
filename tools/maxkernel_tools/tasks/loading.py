"""Read one task folder: ``task.toml`` and ``reference.py``. Every complaint names the file and the key."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import tomli
from pydantic import ValidationError

from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.arrays import DTYPES
from maxkernel_tools.records.kernels import ENTRY_NAMES, KernelSource
from maxkernel_tools.records.tasks import TaskFacts, TaskInput
from maxkernel_tools.tasks.expressions import GRAMMAR, ExpressionError, evaluate, holds
from maxkernel_tools.tasks.sizing import ITEM, check_dims

TASK_FILE: Final = "task.toml"
REFERENCE_FILE: Final = "reference.py"


@dataclass(frozen=True)
class Task:
    """A task as read from its folder.

    Attributes:
        facts: everything ``task.toml`` says.
        folder: where it was read from.
        reference: text of ``reference.py``; only the worker executes it.
        sha256: hash over both files; a receipt's ``task_sha256``.
    """

    facts: TaskFacts
    folder: Path
    reference: KernelSource
    sha256: str


def load_task(folder: Path) -> Task:
    """Read and check the task in ``folder``.

    Raises:
        MisuseError: a file is missing or not readable, a key is missing, unknown, of the wrong type, or inconsistent
            with the rest; the message names the file and the key.
    """
    toml_text = _read(folder / TASK_FILE)
    reference_text = _read(folder / REFERENCE_FILE)
    facts = parse_facts(toml_text, folder / TASK_FILE)
    _check_reference(reference_text, folder / REFERENCE_FILE)
    digest = hashlib.sha256(toml_text.encode() + b"\0" + reference_text.encode()).hexdigest()
    source = KernelSource(text=reference_text, file=str(folder / REFERENCE_FILE))
    return Task(facts=facts, folder=folder, reference=source, sha256=digest)


def parse_facts(text: str, path: Path) -> TaskFacts:
    """Return the facts in TOML ``text``; ``path`` is named in complaints."""
    try:
        raw = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise MisuseError(
            f"{path}: not TOML: {error}.", allowed="a task.toml.", action="Mend the line it names."
        ) from None
    try:
        facts = TaskFacts.model_validate(raw)
    except ValidationError as error:
        raise _complaint(path, error) from None
    _check_formulas(facts, path)
    return facts


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MisuseError(
            f"{path} does not exist.",
            allowed=f"a folder holding {TASK_FILE} and {REFERENCE_FILE}.",
            action="Name such a folder, or a task id.",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise MisuseError(
            f"{path} cannot be read: {error}.", allowed="a UTF-8 text file.", action="Mend the file."
        ) from None


def _complaint(path: Path, error: ValidationError) -> MisuseError:
    first = error.errors(include_url=False)[0]
    key = _key(first["loc"])
    value: Any = first.get("input")
    if first["type"] == "missing":
        said = f"{path}: the key {key} is missing."
    elif first["type"] == "extra_forbidden":
        said = f"{path}: the key {key} is unknown."
    else:
        said = f"{path}: the key {key} is {_short(value)}: {first['msg'][0].lower()}{first['msg'][1:]}."
    more = error.error_count() - 1
    rest = f" ({more} more after it.)" if more else ""
    owner = TaskFacts if len(first["loc"]) == 1 else None
    allowed = f"the keys {', '.join(owner.model_fields)}." if owner and first["type"] != "missing" else "a whole task."
    return MisuseError(said + rest, allowed=allowed, action="See jaxbench/tasks/8p_GEMM/task.toml for an example.")


def _key(location: tuple[int | str, ...]) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _check_formulas(facts: TaskFacts, path: Path) -> None:
    """Evaluate every formula at every set of dims, so that a bad one is found on reading."""
    if not facts.small_shapes:
        raise _bad(path, "small_shapes", "is empty", "at least one member; aligned, ragged and tiny ones are advised.")
    if facts.dtype not in facts.dtypes:
        raise _bad(path, "dtype", f"is {facts.dtype}, which is not in dtypes", ", ".join(facts.dtypes) + ".")
    for name in (*facts.dtypes, *(entry.dtype for entry in (*facts.inputs, *facts.outputs))):
        if name not in DTYPES and name != "task":
            raise _bad(path, "dtype", f"is {name!r}", "task, " + ", ".join(DTYPES) + ".")
    for key, names in (("tolerance.reduction_dims", facts.tolerance.reduction_dims), ("fixed_dims", facts.fixed_dims)):
        for name in names:
            if name not in facts.dims:
                raise _bad(path, key, f"names {name!r}", f"the dims {', '.join(facts.dims)}.")
    sets = [("dims", facts.dims)] + [
        (f"small_shapes[{position}].dims", shape.dims) for position, shape in enumerate(facts.small_shapes)
    ]
    for key, dims in sets:
        _check_at(facts, path, key, dims)


def _check_at(facts: TaskFacts, path: Path, key: str, dims: dict[str, int]) -> None:
    if set(dims) != set(facts.dims):
        raise _bad(path, key, f"names {', '.join(dims)}", f"exactly the dims {', '.join(facts.dims)}.")
    where = ""
    try:
        for where, entries in (("inputs", facts.inputs), ("outputs", facts.outputs)):
            _check_shapes(path, where, entries, dims)
        where = "work.flops"
        evaluate(facts.work.flops, dims)
        where = "work.bytes"
        evaluate(facts.work.bytes, {**dims, ITEM: 2})
        where = "rules"
        for rule in facts.rules:
            holds(rule, dims)
    except ExpressionError as error:
        raise _bad(path, where, f"does not evaluate at {key}: {error}", GRAMMAR) from None
    if reason := check_dims(facts, dims):
        raise _bad(path, key, f"is not allowed: {reason}", "dims that keep fixed_dims and rules.")


def _check_shapes(path: Path, key: str, entries: tuple[TaskInput, ...], dims: dict[str, int]) -> None:
    for position, entry in enumerate(entries):
        for text in entry.shape:
            if evaluate(text, dims) < 1:
                where = f"{key}[{position}].shape"
                raise _bad(path, where, f"holds {text!r}, which is not positive at {dims}", "positive extents.")


def _bad(path: Path, key: str, what: str, allowed: str) -> MisuseError:
    return MisuseError(f"{path}: the key {key} {what}.", allowed=allowed, action="Mend the key.")


def _check_reference(text: str, path: Path) -> None:
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = cast("int | None", getattr(error, "lineno", None))
        raise MisuseError(
            f"{path}: line {line}: {error}.", allowed="a Python file.", action="Mend the line it names."
        ) from None
    defined = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
    if not defined & set(ENTRY_NAMES):
        raise MisuseError(
            f"{path} defines {', '.join(sorted(defined)) or 'no function'}.",
            allowed=f"a top-level function called {' or '.join(ENTRY_NAMES)}.",
            action="Define workload(*inputs) in plain jax.numpy.",
        )
