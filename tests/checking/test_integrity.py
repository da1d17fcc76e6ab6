from __future__ import annotations

from maxkernel_tools.checking import integrity
from tests.adversarial.corpus import call_of, entries


def test_a_trace_nobody_could_read_convicts_nobody() -> None:
    call = call_of(next(entry for entry in entries() if entry.name == "zeros"), "twin")
    assert integrity.of_facts(call, {"unavailable": "KeyError: 'grid'"}) == []
    codes = [item.code.value for item in integrity.of_facts(call, {"pallas_calls": []})]
    assert codes == ["integrity-no-pallas"]
