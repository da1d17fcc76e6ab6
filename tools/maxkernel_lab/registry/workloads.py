"""Turn checked arguments into what the tools take: kernel source, workload, targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from maxkernel_lab.plans import PlanStore
from maxkernel_lab.registry.arguments import MAX_SOURCE, KernelArguments
from maxkernel_lab.registry.definition import Services
from maxkernel_lab.registry.paths import is_file, read_text_file, resolve_folder
from maxkernel_lab.toolchains.stored import DEFAULT, load_toolchain, recorded_toolchains
from maxkernel_tools.context import KernelCall, Workload
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.arrays import ArraySpec
from maxkernel_tools.records.kernels import KernelSource
from maxkernel_tools.records.targets import Target, parse_target

if TYPE_CHECKING:
    from maxkernel_tools.tasks import Task


def kernel_call(
    services: Services, arguments: KernelArguments, *, reference: str = "", reference_path: str = ""
) -> KernelCall:
    """Return the call that ``arguments`` describe.

    Raises:
        MisuseError: kernel or workload is missing, given twice, or cannot be read; or the plan it names, or has to
            name, is not approved.
    """
    require_plan(services, plan_id=arguments.plan_id, task=arguments.task)
    return KernelCall(
        kernel=kernel_source(services, arguments),
        workload=workload(
            services,
            task=arguments.task,
            inputs=arguments.inputs,
            reference=reference,
            reference_path=reference_path,
        ),
        params=dict(arguments.params),
    )


def kernel_source(services: Services, arguments: KernelArguments) -> KernelSource:
    """Return the kernel given as exactly one of ``source`` and ``path``."""
    if bool(arguments.source) == bool(arguments.path):
        raise MisuseError(
            "Both source and path were given." if arguments.source else "Neither source nor path was given.",
            allowed="exactly one of source (the kernel's text) and path (its file).",
            action="Pass one.",
        )
    roots = tuple(str(resolve_folder(root, services.settings, what="import root")) for root in arguments.import_roots)
    if arguments.source:
        return KernelSource(text=arguments.source, import_roots=roots)
    return source_file(services, arguments.path, what="kernel file", import_roots=roots)


def source_file(services: Services, path: str, *, what: str, import_roots: tuple[str, ...] = ()) -> KernelSource:
    """Return the source in ``path``, shown to a person the way it was named."""
    text, _ = read_text_file(path, services.settings, what=what, max_bytes=MAX_SOURCE)
    return KernelSource(text=text, file=path, import_roots=import_roots)


def require_plan(services: Services, *, plan_id: str, task: str) -> None:
    """Let a call pass that carries out an approved plan; where the paradigm is ``hitl``, no other.

    Raises:
        MisuseError: the plan is missing, unknown, changed, for another workload, or not approved.
    """
    if plan_id:
        PlanStore(services.home.root).require(plan_id, plan_subject(services, task) if task else "")
    elif services.settings.paradigm == "hitl":
        raise MisuseError(
            "The paradigm is hitl: a kernel is judged only for a plan that a person approved.",
            allowed="plan_id of an approved plan.",
            action="Call propose_plan, have it approved, and pass its plan_id.",
        )


def plan_subject(services: Services, task: str) -> str:
    """Return the name a workload's plans are kept under: the task's id.

    Raises:
        MisuseError: there is no such task.
    """
    wanted = workload(services, task=task, inputs=()).task
    return wanted.facts.id if wanted is not None else task


def workload(
    services: Services, *, task: str, inputs: Sequence[str], reference: str = "", reference_path: str = ""
) -> Workload:
    """Return what has to be computed: a task, or abstract inputs with or without a reference."""
    if task and (inputs or reference or reference_path):
        raise MisuseError(
            f"Task {task!r} was given together with inputs or a reference.",
            allowed="a task, which brings both; or inputs, with a reference where one is needed.",
            action="Leave one out.",
        )
    if task:
        found = find_task(services, task)
        from maxkernel_tools.tasks import input_specs  # noqa: PLC0415 - kept out of the server's start

        facts = found.facts
        specs = input_specs(facts, facts.dims, facts.dtype)
        return Workload(inputs=specs, label=facts.id, task=found, reference=found.reference)
    if not inputs:
        raise MisuseError(
            "Neither a task nor inputs were given.",
            allowed='a task ("8p_GEMM"), or inputs like ["bf16[8192,8192]", "s32[16]"].',
            action="Pass one; list_tasks shows the tasks.",
        )
    specs = tuple(ArraySpec.parse(text) for text in inputs)
    source = reference_source(services, reference, reference_path)
    return Workload(inputs=specs, label=" ".join(str(spec) for spec in specs), reference=source)


def reference_source(services: Services, reference: str, reference_path: str) -> KernelSource | None:
    """Return the caller's own reference, if one was given."""
    if reference and reference_path:
        raise MisuseError(
            "Both reference and reference_path were given.", allowed="one of them.", action="Leave one out."
        )
    if reference:
        return KernelSource(text=reference, file="reference.py")
    return source_file(services, reference_path, what="reference file") if reference_path else None


def find_task(services: Services, task: str) -> Task:
    """Return the task called ``task``, or in the folder of that name inside the allowed roots."""
    from maxkernel_tools.tasks import TASK_FILE, load_task  # noqa: PLC0415 - kept out of the server's start

    if "/" in task or task in {".", ".."} or is_file(services.settings.workspace / task / TASK_FILE):
        return load_task(resolve_folder(task, services.settings, what="task folder"))
    return services.catalog.find(task)


def targets(services: Services, names: Sequence[str]) -> tuple[Target, ...]:
    """Return the targets called ``names``, without repeats; the settings' own where none is named."""
    if not names:
        return (services.settings.target,)
    return tuple(dict.fromkeys(parse_target(name) for name in names))


def toolchain_names(services: Services, names: Sequence[str]) -> tuple[str, ...]:
    """Return the toolchains called ``names``, without repeats; the installed one where none is named.

    Raises:
        MisuseError: one of them was not added.
    """
    for name in names:
        if name != DEFAULT and load_toolchain(services.home.root, name) is None:
            known = [DEFAULT, *recorded_toolchains(services.home.root)]
            raise MisuseError(
                f"No toolchain is called {name!r}.",
                allowed=f"{', '.join(known)}.",
                action="Add one in the shell: maxkernel toolchain add jax==0.6.2.",
            )
    return tuple(dict.fromkeys(names)) or (DEFAULT,)


def one_target(services: Services, name: str) -> Target:
    """Return the target called ``name``, or the settings' own."""
    return parse_target(name) if name else services.settings.target
