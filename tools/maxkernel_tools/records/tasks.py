"""Facts of one task: what a kernel must compute, on which shapes, and what is known about its speed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from maxkernel_tools.records.base import Record
from maxkernel_tools.records.results import ToolResult

Mode = Literal["hardened", "classic"]
ShapeKind = Literal["aligned", "ragged", "tiny"]


class TaskInput(Record):
    """One input: its dtype and its shape as expressions over ``dims`` (``["M", "K"]``, ``["B*S", "D"]``, ``["8"]``).

    Attributes:
        name: argument name.
        shape: one expression per axis; integers, dim names, + - * // and parentheses.
        dtype: short HLO spelling (``bf16``), or ``"task"`` for the task's dtype.
        role: ``data`` enters arithmetic; ``metadata`` steers it (lengths, page tables, group sizes).
        classic: the published distribution, in words.
        dead: the algebra cancels it: no value of it changes the output. The task carries a label that says why.
        assumed: what a kernel that never reads it would take for granted (``arange``: an identity page table or one
            row each; ``even``: the same total in equal parts; ``largest``: its largest entry everywhere); the audit
            tries it.
    """

    name: str
    shape: tuple[str, ...]
    dtype: str = "task"
    role: Literal["data", "weight", "affine", "metadata"] = "data"
    classic: str = ""
    dead: bool = False
    assumed: Literal["", "zeros", "ones", "arange", "even", "largest"] = ""


class SmallShape(Record):
    """One member of the task's family of small shapes."""

    kind: ShapeKind
    dims: dict[str, int]


class Tolerance(Record):
    """How the allowed error is derived; see ``maxkernel_tools.checking.tolerance``.

    Attributes:
        policy: ``arithmetic`` derives it from oracle and dtype; ``exact`` allows none.
        reduction_dims: dims that are summed over, which scale rounding.
        factor: multiplies the reference's own rounding error.
        published_atol: absolute part of the flat tolerance it was published with; the audit measures what that lets in.
        published_rtol: its relative part.
    """

    policy: Literal["arithmetic", "exact"] = "arithmetic"
    reduction_dims: tuple[str, ...] = ()
    factor: float = 4.0
    published_atol: float = 0.01
    published_rtol: float = 0.01


class Work(Record):
    """Flops and bytes as formulas over dims (same expression language as shapes).

    Attributes:
        flops: what the semantics needs as written.
        bytes: each input read once, each output written once.
        note: what is counted.
        least_flops: what the known algebraic rewrite needs, where there is one (else empty). A floor for a time must
            use it, or a legal shortcut looks impossible.
        least_bytes: the same for bytes, where inputs are dead and need not be read.
    """

    flops: str
    bytes: str
    note: str = ""
    least_flops: str = ""
    least_bytes: str = ""


class PublishedTime(Record):
    """A time somebody published. Always with its source."""

    target: str
    time_ms: float
    what: str
    source: str
    comparable: bool = True
    note: str = ""


class TaskLabel(Record):
    """A flaw of the task that a reader of scores must know, e.g. ``dead-algebra``."""

    name: str
    text: str


class TaskFacts(Record):
    """All of ``task.toml``.

    Attributes:
        id: published id, e.g. ``8p_GEMM``.
        split: ``jaxbench``, ``models`` or ``user``.
        tier: ``priority``, ``kernelbench``, ``models`` or ``user``.
        operator: the class it belongs to (``matmul``, ``attention``, ``normalization``, ``convolution``, ...).
        dtype: default task dtype, short spelling.
        dtypes: dtypes it may be graded at.
        dims: the full published dimensions.
        small_shapes: at least one aligned, one ragged, one tiny.
        constants: named scalars of the semantics (documentation; the reference holds them).
        outputs: one shape-and-dtype entry per output, same form as inputs.
        requires_pallas: whether a kernel without a ``pallas_call`` is refused.
        classic_dims: batch and rows as the audit cuts them in classic mode; every other dim keeps its full value.
        fixed_dims: dims that are part of the semantics; derived shapes keep them at the full value.
        rules: comparisons every set of dims must satisfy, e.g. ``Hq % Hkv == 0``.
    """

    id: str
    title: str
    split: str = "user"
    tier: str = "user"
    operator: str
    semantics: str
    origin: str = ""
    dtype: str = "bf16"
    dtypes: tuple[str, ...] = ("bf16", "f32")
    dims: dict[str, int]
    inputs: tuple[TaskInput, ...]
    outputs: tuple[TaskInput, ...]
    constants: dict[str, float | int | str | bool] = Field(default_factory=dict)
    small_shapes: tuple[SmallShape, ...]
    tolerance: Tolerance = Tolerance()
    work: Work
    published: tuple[PublishedTime, ...] = ()
    labels: tuple[TaskLabel, ...] = ()
    flaws: tuple[str, ...] = ()
    requires_pallas: bool = True
    classic_dims: dict[str, int] = Field(default_factory=dict)
    fixed_dims: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


class TaskLine(Record):
    """One line of ``list_tasks``."""

    id: str
    tier: str
    operator: str
    title: str
    labels: tuple[str, ...] = ()


class TaskListResult(ToolResult):
    """Answer of ``list_tasks``."""

    tasks: tuple[TaskLine, ...] = ()
    total: int = 0


class ReferenceEquation(Record):
    """One equation of the reference's jaxpr, flattened (nested jits inlined).

    Attributes:
        primitive: jax primitive name, e.g. ``dot_general``.
        inputs: value names (``a``, ``b``) or literals (``2.0:f32``).
        outputs: value names.
        params: the parameters that carry meaning, as short text (``dimension_numbers``, ``axes``, ``new_dtype``).
        avals: one spec per output, like ``bf16[8192,28672]``.
    """

    primitive: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    params: dict[str, str] = Field(default_factory=dict)
    avals: tuple[str, ...] = ()


class ReferenceGraph(Record):
    """The reference's jaxpr at full size, as data, so that an author without jax can read it."""

    inputs: tuple[str, ...]
    input_avals: tuple[str, ...]
    outputs: tuple[str, ...]
    output_avals: tuple[str, ...]
    equations: tuple[ReferenceEquation, ...]
    constants: dict[str, str] = Field(default_factory=dict)


class TaskResult(ToolResult):
    """Answer of ``get_task``."""

    task: TaskFacts | None = None
    input_specs: tuple[str, ...] = ()
    output_specs: tuple[str, ...] = ()
    flops: int | None = None
    bytes: int | None = None
    roofline_us: dict[str, float] = Field(default_factory=dict)
    reference_source: str | None = None
    reference_graph: ReferenceGraph | None = None
