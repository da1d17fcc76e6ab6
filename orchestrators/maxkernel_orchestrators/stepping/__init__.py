"""The step: plan, implement, compile, test, tune, profile, record. Its gates are code; no mind decides a verdict."""

from maxkernel_orchestrators.stepping.bench import Bench
from maxkernel_orchestrators.stepping.candidates import Candidate, CandidateState
from maxkernel_orchestrators.stepping.step import Step

__all__ = ["Bench", "Candidate", "CandidateState", "Step"]
