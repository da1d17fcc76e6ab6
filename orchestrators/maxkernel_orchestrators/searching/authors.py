"""Proposers over minds: the built-in author's blueprints, or a prompted author's plans, move by move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from maxkernel_orchestrators.minds.builtin import BuiltinMind
from maxkernel_orchestrators.minds.port import Mind, MindFaultError, Situation
from maxkernel_orchestrators.moves import OWN_MOVE, catalogue
from maxkernel_orchestrators.searching.parameters import is_parameter_move, parameter_moves, stepped
from maxkernel_orchestrators.searching.proposals import Proposal
from maxkernel_orchestrators.stepping.candidates import Candidate
from maxkernel_orchestrators.stepping.own_kernel import own_implementation, own_plan

FROM_NOTHING = "from nothing"
"""A prompted author's designs: so many kernels written from the reference alone, told apart by a number."""
_DESIGNS = 4


class _Author:
    """What both have in common: a kernel the user brought, and steps along parameters."""

    def __init__(self, own_source: str | None) -> None:
        self._own_source = own_source

    def _own(self) -> list[str]:
        return [OWN_MOVE] if self._own_source is not None else []

    def _ready(self, parent: Candidate | None, move: str) -> Proposal | None:
        """Return what needs no author."""
        if move == OWN_MOVE and self._own_source is not None:
            return Proposal(plan=own_plan(), implementation=own_implementation(self._own_source))
        if parent is not None and is_parameter_move(move):
            return stepped(parent, move)
        return None


class BlueprintProposer(_Author):
    """The built-in author: one design per blueprint, then steps along its parameters.

    Args:
        mind: the author.
        own_source: the user's kernel, where there is one.
    """

    def __init__(self, mind: BuiltinMind, own_source: str | None) -> None:
        super().__init__(own_source)
        self._mind = mind

    async def designs(self, situation: Situation) -> Sequence[str]:
        """Every blueprint that fits the reference."""
        return [*self._own(), *self._mind.designs(situation)]

    def moves(self, candidate: Candidate) -> Sequence[str]:
        """Steps along the parameters."""
        return parameter_moves(candidate.source, candidate.params)

    async def propose(self, situation: Situation, parent: Candidate | None, move: str) -> Proposal:
        """Fill the blueprint, or step."""
        ready = self._ready(parent, move)
        if ready is not None:
            return ready
        plan = self._mind.design(situation, move)
        return Proposal(plan=plan, implementation=await self._mind.implement(situation, plan))


class PromptedProposer(_Author):
    """An author that writes freely: designs from nothing, then the catalogue's moves, each asked for by name.

    Args:
        mind: the author.
        own_source: the user's kernel, where there is one.
    """

    def __init__(self, mind: Mind, own_source: str | None) -> None:
        super().__init__(own_source)
        self._mind = mind

    async def designs(self, situation: Situation) -> Sequence[str]:  # noqa: ARG002 - part of the port
        """So many kernels written from nothing."""
        return [*self._own(), *(f"{FROM_NOTHING} {number}" for number in range(1, _DESIGNS + 1))]

    def moves(self, candidate: Candidate) -> Sequence[str]:
        """The catalogue, and steps along the parameters."""
        return [*(move.name for move in catalogue()), *parameter_moves(candidate.source, candidate.params)]

    async def propose(self, situation: Situation, parent: Candidate | None, move: str) -> Proposal:
        """Have the move planned and written.

        Raises:
            MindFaultError: the author gave no plan, or no kernel.
        """
        ready = self._ready(parent, move)
        if ready is not None:
            return ready
        asked = replace(situation, wanted_move="" if move.startswith(FROM_NOTHING) else move)
        plan = await self._mind.plan(asked)
        if plan is None:
            raise MindFaultError("the author planned nothing")
        return Proposal(plan=plan, implementation=await self._mind.implement(asked, plan))
