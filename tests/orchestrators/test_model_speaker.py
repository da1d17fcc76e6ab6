"""Language models as minds, over real HTTP to a server of the tests' own that misbehaves in every way providers do."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest

from maxkernel_orchestrators.job import Journal, Ledger
from maxkernel_orchestrators.job.config import Budget
from maxkernel_orchestrators.minds import asking
from maxkernel_orchestrators.minds.choosing import choose_mind
from maxkernel_orchestrators.minds.models import ModelName, model_speaker
from maxkernel_orchestrators.minds.prices import price_of, price_table
from maxkernel_orchestrators.minds.speaking import SpeakerFaultError
from maxkernel_orchestrators.reporting import OptimizationResult
from maxkernel_tools.errors import MisuseError
from tests.orchestrators.fake_lab import FakeLab
from tests.orchestrators.model_server import ModelServer, Turn, model_server
from tests.orchestrators.test_auto import optimize
from tests.orchestrators.test_prompted_minds import CODE, PLAN, STOP

if importlib.util.find_spec("pydantic_ai") is None:
    pytest.skip("the extra 'agent' is not installed", allow_module_level=True)

_SECRET = "sk-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_COMPATIBLE_API_KEY", _SECRET)


def run(folder: Path, server: ModelServer, **config: object) -> OptimizationResult:
    return optimize(folder, FakeLab(), author=f"openai:m@{server.url}", **config)


GOOD = (Turn(PLAN), Turn(f"Here:\n```json\n{CODE}\n```"), Turn(STOP))


def test_a_model_plans_writes_and_stops_and_its_tokens_are_counted(tmp_path: Path) -> None:
    with model_server(*GOOD) as server:
        result = run(tmp_path / "j-1", server)
    assert result.ok is True
    assert result.cost.exchanges == 3
    assert (result.cost.input_tokens, result.cost.output_tokens) == (300, 60)
    assert result.cost.usd is None, "the price of a model on an unknown server is not zero"
    assert result.cost.faults == {}
    assert result.candidates[0].cost.input_tokens == 200
    assert server.requests[0]["stream"] is True
    assert server.keys[0] == f"Bearer {_SECRET}"


FAULTS = {
    "malformed": Turn("no JSON here {"),
    "no-answer": Turn(""),
    "refusal": Turn("I'm sorry, but I can't help with that."),
    "wrong-tool": Turn(tool="run_shell"),
    "rate-limit": Turn(status=429, headers={"retry-after": "0.01"}),
    "server-error": Turn(status=500, headers={"retry-after-ms": "10"}),
    "truncated": Turn(CODE, cut=True),
    "too-long": Turn(CODE, stop="length"),
    "overflow": Turn(status=400, code="context_length_exceeded"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_every_fault_is_counted_by_kind_and_asked_through(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "PATIENCE", asking.Patience(first_wait_s=0.01))
    plan, code, stop = GOOD
    with model_server(plan, FAULTS[kind], code, stop) as server:
        result = run(tmp_path / "j-1", server)
    assert result.ok is True
    assert result.cost.faults == {kind: 1}
    assert result.cost.exchanges == 4
    assert len(server.requests) == 4
    if kind == "overflow":
        sizes = [len(json.dumps(request)) for request in server.requests]
        assert sizes[2] <= sizes[1]


def test_a_filtered_answer_is_a_refusal(tmp_path: Path) -> None:
    with model_server(GOOD[0], Turn("part", stop="content_filter"), *GOOD[1:]) as server:
        result = run(tmp_path / "j-1", server)
    assert result.ok is True
    assert result.cost.faults == {"refusal": 1}


def test_a_body_that_is_not_of_the_protocol_is_a_fault_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "PATIENCE", asking.Patience(first_wait_s=0.01))
    with model_server(GOOD[0], Turn(garbage=True), *GOOD[1:]) as server:
        result = run(tmp_path / "j-1", server)
    assert result.ok is True
    assert sum(result.cost.faults.values()) == 1


def test_who_asks_to_wait_for_an_hour_is_not_waited_for(tmp_path: Path) -> None:
    with model_server(Turn(status=429, headers={"retry-after": "3600"})) as server:
        result = run(tmp_path / "j-1", server)
    assert result.ok is False
    assert len(server.requests) == 1
    assert result.cost.faults == {"rate-limit": 1}
    assert "gave no plan" in result.summary


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refused_key_or_model_ends_the_run_at_once_and_no_key_is_kept(tmp_path: Path, status: int) -> None:
    with model_server(Turn(status=status, code=f"wrong {_SECRET}")) as server:
        result = run(tmp_path / "j-1", server)
    assert result.ok is False
    assert len(server.requests) == 1
    assert result.cost.faults == {"rejected": 1}
    for path in (tmp_path / "j-1").iterdir():
        assert _SECRET.encode() not in path.read_bytes(), path.name


def test_a_key_that_a_model_repeats_is_taken_out(tmp_path: Path) -> None:
    plan = json.dumps({"move": "tiling", "hypothesis": f"your key is {_SECRET}"})
    with model_server(Turn(plan), *GOOD[1:]) as server:
        run(tmp_path / "j-1", server)
    for path in (tmp_path / "j-1").iterdir():
        assert _SECRET.encode() not in path.read_bytes(), path.name


@pytest.mark.anyio
async def test_a_model_that_hangs_is_given_up_at_its_deadline() -> None:
    with model_server(Turn(hang=True)) as server:
        speaker = model_speaker(f"openai:m@{server.url}", timeout_s=0.3)
        with pytest.raises(SpeakerFaultError) as caught:
            await speaker.say("planner", "plan")
    assert caught.value.kind == "timeout"
    assert caught.value.spent is not None
    assert caught.value.spent.usd is None
    assert caught.value.spent.output_tokens > 0, "what cannot be counted is booked at the most it can be"


@pytest.mark.anyio
async def test_a_server_that_is_not_there_is_a_connection_fault() -> None:
    with model_server() as server:
        url = server.url
    with pytest.raises(SpeakerFaultError) as caught:
        await model_speaker(f"openai:m@{url}").say("planner", "plan")
    assert caught.value.kind == "connection"


def test_the_budget_of_tokens_is_checked_before_every_exchange(tmp_path: Path) -> None:
    with model_server(*GOOD) as server:
        result = run(tmp_path / "j-1", server, budget={"tokens": 200})
    assert len(server.requests) == 2, "100 + 20 tokens each: after two exchanges 240 are spent"
    assert result.stopped == "tokens"
    assert result.ok is True, "what was verified before stays"
    with model_server(*GOOD) as server:
        result = run(tmp_path / "j-2", server, budget={"tokens": 100})
    assert len(server.requests) == 1
    assert result.ok is False
    assert result.kernel_path is None


def test_what_an_earlier_session_spent_counts(tmp_path: Path) -> None:
    with model_server(*GOOD) as server:
        run(tmp_path / "j-1", server, budget={"tokens": 200})
    journal = Journal(tmp_path / "j-1" / "journal.sqlite3")
    assert Ledger(journal).totals().input_tokens == 200
    journal.close()
    with model_server(*GOOD) as server:
        author = f"openai:m@{server.url}"
        (tmp_path / "j-1" / "result.json").unlink()
        optimize(tmp_path / "j-1", FakeLab(), author=author, budget={"tokens": 200})
        assert server.requests == []


def test_a_limit_on_money_needs_a_price(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.sqlite3")
    with pytest.raises(MisuseError, match="price"):
        choose_mind("openai:m@http://127.0.0.1:9/v1", journal, Ledger(journal, Budget(usd=1.0)))
    journal.close()


def test_the_price_table_names_its_sources_and_guesses_nothing() -> None:
    table = price_table()
    assert set(table.vendors) == {"anthropic", "openai", "google"}
    assert all(vendor.source.startswith("https://") and vendor.models for vendor in table.vendors.values())
    assert price_of("openai", "no-such-model") is None
    price = price_of("anthropic", "claude-sonnet-4-5")
    assert price is not None
    assert price_of("anthropic", "claude-sonnet-4-5-20250929") == price
    assert price.of(1_000_000, 0) >= price.of(100_000, 0) * 10
    assert price.of(1000, 1000) == pytest.approx((price.input + price.output) / 1000)


@pytest.mark.parametrize("author", ["anthropic:claude-sonnet-4-5", "openai:gpt-5", "google:gemini-2.5-pro"])
def test_without_a_key_the_error_says_where_one_is_looked_for(author: str) -> None:
    with pytest.raises(MisuseError, match="_API_KEY"):
        model_speaker(author)


@pytest.mark.parametrize(
    ("author", "variable"),
    [
        ("anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("google:gemini-2.5-pro", "GEMINI_API_KEY"),
        ("ollama:llama3.3", "OLLAMA_API_KEY"),
    ],
)
def test_every_provider_can_be_spoken_to(author: str, variable: str) -> None:
    speaker = model_speaker(author, {variable: "key-0123456789"})
    assert speaker.name == author
    assert speaker.priced is not author.startswith("ollama")


def test_openais_key_is_not_sent_to_another_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_COMPATIBLE_API_KEY")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai-alone")
    with model_server(*GOOD) as server:
        run(tmp_path / "j-1", server)
    assert all("sk-for-openai-alone" not in key for key in server.keys)


@pytest.mark.parametrize("author", ["openai:", "openai:m@", "openai:m@ftp://x", "nowhere:m", "openai:m@nothing"])
def test_a_name_that_is_no_model_is_refused_with_the_form_of_one(author: str) -> None:
    with pytest.raises(MisuseError, match="openai:MODEL"):
        ModelName.parse(author)


def test_without_the_extra_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pydantic_ai" else real(name))
    with pytest.raises(MisuseError, match="maxkernel-mcp\\[agent\\]"):
        model_speaker("openai:gpt-5", {"OPENAI_API_KEY": "x"})
