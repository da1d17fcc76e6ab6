"""Audits tasks: what a kernel that does not do the work would get away with. Runs references only, never a candidate.

A long-lived service: one request per line on standard input, one reply per line on a descriptor of its own. Everything
stays in this process, so that the large inputs of classic mode never cross a pipe. The comparison is the grader's.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import traceback
from typing import Any, Final

from maxkernel_tools.worker.auditing.examination import Subject, answer
from maxkernel_tools.worker.walls import kernel

_MEMORY_BYTES: Final = 12 << 30
"""A task that needs more fails here, rather than the whole machine; the largest takes about 9 GiB in classic mode."""


def main(arguments: list[str]) -> None:  # noqa: ARG001 - the signature every service has
    """Answer requests until standard input ends; killed when the process that asks is gone, in mid-request too."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print must not mix with the answers
    for line in sys.stdin:
        request = json.loads(line)
        reply: dict[str, Any]
        try:
            reply = answer(Subject.model_validate(request)).model_dump(mode="json")
        except Exception:  # noqa: BLE001 - the service's outermost boundary; the reply carries the traceback
            reply = {"error": traceback.format_exc()}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()
