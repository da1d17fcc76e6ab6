"""Human in the loop: a person approves plans and code step by step; what nobody approved is not carried out."""

from maxkernel_orchestrators.hitl.gate import Approvals, GatedMind
from maxkernel_orchestrators.hitl.person import Person, PersonLeftError
from maxkernel_orchestrators.hitl.session import Session

__all__ = ["Approvals", "GatedMind", "Person", "PersonLeftError", "Session"]
