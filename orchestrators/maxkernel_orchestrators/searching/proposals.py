"""From a move to a kernel text: steps along declared parameters, designs of a mind, moves of the catalogue."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Protocol

from maxkernel_orchestrators.minds.port import Situation
from maxkernel_orchestrators.roles import Implementation, Plan
from maxkernel_orchestrators.stepping.candidates import Candidate
from maxkernel_tools.records.base import Record
from maxkernel_tools.records.kernels import ParamValue


class Proposal(Record):
    """A kernel nobody has judged yet, and why."""

    plan: Plan
    implementation: Implementation

    @property
    def key(self) -> str:
        """Hash of text and parameters: the same file with the same values is the same candidate."""
        return candidate_key(self.implementation.source, self.implementation.params)


def candidate_key(source: str, params: Mapping[str, ParamValue]) -> str:
    """Return the hash of a text with its parameters."""
    return hashlib.sha256(json.dumps([source, params], sort_keys=True).encode()).hexdigest()[:32]


class Proposer(Protocol):
    """Knows which moves there are, and carries them out."""

    async def designs(self, situation: Situation) -> Sequence[str]:
        """Moves from the root, most promising first."""
        ...

    def moves(self, candidate: Candidate) -> Sequence[str]:
        """Moves from a candidate."""
        ...

    async def propose(self, situation: Situation, parent: Candidate | None, move: str) -> Proposal:
        """Carry out a move; ``parent`` is None at the root.

        Raises:
            MindFaultError: its author gave no usable kernel.
        """
        ...
