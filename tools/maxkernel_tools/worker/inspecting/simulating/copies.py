"""Follows asynchronous copies and semaphores: started, awaited, awaited in vain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxkernel_tools.worker.inspecting.evaluating import UNKNOWN
from maxkernel_tools.worker.inspecting.simulating.memory import Copy, Garbage, Ref
from maxkernel_tools.worker.inspecting.simulating.regions import Box, elements
from maxkernel_tools.worker.inspecting.simulating.views import Region

if TYPE_CHECKING:
    from maxkernel_tools.worker.inspecting.simulating.machine import Env, Machine


class Copies:
    """Rules for ``dma_start``, ``dma_wait`` and the semaphore primitives."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def start(self, eqn: Any, env: Env) -> None:
        """A copy starts: it reads its source from now on and writes its destination until awaited."""
        source, destination, semaphore, source_semaphore, device = _unflatten(eqn)
        if device is not None or source_semaphore is not None:
            self._machine.absorb(eqn, env)
            return
        held, slot = self._semaphore(semaphore, env)
        from_ref, from_region = self._access(source, env)
        to_ref, to_region = self._access(destination, env)
        if held is None or slot is None:
            self._machine.absorb(eqn, env)
            return
        machine = self._machine
        if from_ref is not None and from_region is not None:
            machine.keeps(machine.reads(from_ref, from_region))
        if to_ref is not None and to_region is not None:
            self._check_destination(to_ref, to_region)
        machine.memory.copies.append(
            Copy(
                source=from_ref,
                source_region=from_region,
                destination=to_ref,
                destination_region=to_region,
                semaphore=held,
                slot=slot,
                bits=_bits(to_ref, to_region),
                place=machine.place(),
                step=machine.step.coords,
            )
        )

    def wait(self, eqn: Any, env: Env) -> None:
        """A copy is awaited: it has landed, or never will."""
        _, destination, semaphore, source_semaphore, device = _unflatten(eqn)
        if device is not None or source_semaphore is not None:
            self._machine.absorb(eqn, env)
            return
        held, slot = self._semaphore(semaphore, env)
        if held is None or slot is None:
            self._machine.absorb(eqn, env)
            return
        to_ref, to_region = self._access(destination, env)
        memory = self._machine.memory
        pending = [copy for copy in memory.copies if copy.semaphore is held and copy.slot == slot]
        if not pending:
            if not held.maybe:
                memory.observe("starved-wait", self._machine.place(), held, slot=_slot_text(slot))
                self._landed(to_ref, to_region)
            return
        same = [copy for copy in pending if copy.destination is to_ref and copy.destination_region == to_region]
        wanted = _bits(to_ref, to_region)
        for copy in same[:1] or pending:
            memory.copies.remove(copy)
            self._land(copy)
            if wanted is None or copy.bits is None:
                break
            wanted -= copy.bits
            if wanted <= 0:
                break

    def signal(self, eqn: Any, env: Env) -> None:
        """A semaphore counts up."""
        ref, transforms, amount, *elsewhere = eqn.params["args_tree"].unflatten(eqn.invars)
        held = self._machine.read(env, ref)
        if not isinstance(held, Ref):
            return
        value = self._amount(amount, env)
        region = self._machine.region(held, transforms, env)
        if any(item is not None for item in elsewhere) or value is UNKNOWN or not region.known:
            held.maybe = True
            return
        held.counts[region.box] = held.counts.get(region.box, 0) + int(value)

    def semaphore_wait(self, eqn: Any, env: Env) -> None:
        """A semaphore is waited on until it has counted far enough."""
        ref, transforms, amount, *_ = eqn.params["args_tree"].unflatten(eqn.invars)
        held = self._machine.read(env, ref)
        if not isinstance(held, Ref):
            return
        value = self._amount(amount, env)
        region = self._machine.region(held, transforms, env)
        if value is UNKNOWN or not region.known or held.maybe:
            held.maybe = True
            return
        count = held.counts.get(region.box, 0)
        if count < int(value):
            self._machine.memory.observe(
                "starved-wait",
                self._machine.place(),
                held,
                slot=_slot_text(region.box),
                count=count,
                wanted=int(value),
            )
        held.counts[region.box] = max(count - int(value), 0)

    def _amount(self, atom: Any, env: Env) -> Any:
        value = self._machine.read(env, atom)
        return UNKNOWN if isinstance(value, Garbage) else value

    def _check_destination(self, ref: Ref, region: Region) -> None:
        machine = self._machine
        copy = machine.memory.landing_in(ref, region) or machine.memory.reading_from(ref, region)
        if copy is not None:
            line = None if copy.place is None else copy.place.line
            machine.memory.observe("copy-over-copy", machine.place(), ref, started_line=line)

    def _land(self, copy: Copy) -> None:
        if copy.destination is None or copy.destination_region is None:
            return
        if copy.destination.first_write is None:
            copy.destination.first_write = copy.place
        copy.destination.write(copy.destination_region, copy.step)

    def _landed(self, ref: Ref | None, region: Region | None) -> None:
        # Reported as a wait in vain; what follows is not worth a second alarm.
        if ref is not None and region is not None:
            ref.maybe = True

    def _semaphore(self, view: Any, env: Env) -> tuple[Ref | None, Box | None]:
        ref, region = self._access(view, env)
        return ref, (region.box if region is not None and region.known else None)

    def _access(self, view: Any, env: Env) -> tuple[Ref | None, Region | None]:
        if view is None:
            return None, None
        inner, transforms = (view.ref, view.transforms) if hasattr(view, "transforms") else (view, ())
        held = self._machine.read(env, inner)
        if not isinstance(held, Ref):
            return None, None
        return held, self._machine.region(held, transforms, env)


def _unflatten(eqn: Any) -> tuple[Any, Any, Any, Any, Any]:
    parts = eqn.params["tree"].unflatten(eqn.invars)
    if len(parts) > 5:
        # Older versions list references and their transforms in turn.
        source, a, destination, b, semaphore, c, source_semaphore, _, device = parts[:9]
        return _Pair(source, a), _Pair(destination, b), _Pair(semaphore, c), source_semaphore, device
    return parts


class _Pair:
    def __init__(self, ref: Any, transforms: Any) -> None:
        self.ref = ref
        self.transforms = transforms or ()


def _bits(ref: Ref | None, region: Region | None) -> int | None:
    if ref is None or region is None or not region.exact:
        return None
    return elements(region.box) * ref.bits


def _slot_text(slot: Box) -> str:
    return ",".join(str(start) for start, _ in slot)
