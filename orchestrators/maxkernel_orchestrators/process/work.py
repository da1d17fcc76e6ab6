"""The work of one job: from its config to its result, over a connected lab."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
from mcp.client.client import Client

from maxkernel_orchestrators.connection import Lab
from maxkernel_orchestrators.hitl import Person
from maxkernel_orchestrators.job import JobConfig, JobFolder, Journal, Ledger
from maxkernel_orchestrators.minds.choosing import choose_mind
from maxkernel_orchestrators.process.paradigms import Means, Paradigm, paradigm_for
from maxkernel_orchestrators.reporting import OptimizationResult, export, outcome_of
from maxkernel_orchestrators.reporting.display import Display
from maxkernel_orchestrators.stepping.bench import Bench
from maxkernel_orchestrators.stepping.candidates import Candidate
from maxkernel_orchestrators.stepping.ending import Ending
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.base import Record
from maxkernel_tools.records.jobs import BestSoFar, JobProgress

_HEARTBEAT_S = 5.0


class SourceText(Record):
    """A file's text as it was when the job first read it."""

    text: str


class Worker:
    """Does one job.

    Args:
        folder: the job's folder, owned by this process.
        config: what to do.
        journal: what was done.
        display: where a person watches.
        person: who is in the loop; None for whoever is at the terminal.
    """

    def __init__(
        self, folder: JobFolder, config: JobConfig, journal: Journal, display: Display, person: Person | None = None
    ) -> None:
        self._folder, self._config, self._journal, self._display = folder, config, journal, display
        # With a person in the loop the clock runs while they think: what limits that is they themselves.
        patient = {"wall_s": 0.0} if config.paradigm == "hitl" else {}
        self._ledger = Ledger(journal, config.budget.model_copy(update=patient))
        self._person = person
        self._progress = JobProgress()
        self._best: Candidate | None = None
        self._evaluations: Callable[[], int] = lambda: 0

    async def run(self, client: Client) -> OptimizationResult:
        """Work by the paradigm, export, write the result.

        Raises:
            MisuseError: the config asks for what does not exist.
            LabError: the lab refused, failed or went away.
        """
        lab = Lab(client, self._config.subject, self._heard)
        bench = Bench(lab, self._journal, self._config.target)
        self._evaluations = lambda: bench.evaluations
        means = Means(
            folder=self._folder.path,
            config=self._config,
            bench=bench,
            mind=choose_mind(self._config.author, self._journal, self._ledger),
            journal=self._journal,
            ledger=self._ledger,
            tell=self._tell,
            changed=self._changed,
            own_source=await self._own_source(),
            person=self._person,
        )
        with paradigm_for(means) as paradigm:
            ending = await self._beating(paradigm)
        self._tell("export", "kernel and report")
        outcome = outcome_of(
            ending,
            job_id=self._folder.job_id,
            task=bench.label,
            target=self._config.target,
            author=self._config.author,
            paradigm=self._config.paradigm,
            cost=self._ledger.totals(),
            costs=self._ledger.by_candidate(),
        )
        outcome = export(self._folder, ending, outcome)
        self._folder.write_result(outcome.model_dump(mode="json"))
        self._folder.log("done", ok=outcome.ok, summary=outcome.summary)
        return outcome

    async def _beating(self, paradigm: Paradigm) -> Ending:
        """Run the paradigm while the progress file stays fresh."""
        endings: list[Ending] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._beat)
            endings.append(await paradigm.run())
            tasks.cancel_scope.cancel()
        return endings[0]

    async def _own_source(self) -> str | None:
        if not self._config.start_from:
            return None
        path = Path(self._config.start_from)

        async def read() -> SourceText:
            try:
                return SourceText(text=await anyio.Path(path).read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError) as error:
                raise MisuseError(
                    f"{path} cannot be read: {error}",
                    allowed="a UTF-8 Python file that defines workload.",
                    action="Check --start-from.",
                ) from error

        return (await self._journal.step("source", {"path": str(path)}, SourceText, read)).text

    def _tell(self, stage: str, message: str) -> None:
        self._progress = JobProgress(stage=stage, message=message, done=self._evaluations())
        self._display.stage(stage, message)
        self._folder.log("stage", stage=stage, message=message)
        self._write()

    def _changed(self, candidate: Candidate) -> None:
        self._best = candidate
        self._display.best(f"{candidate.name}: {candidate.observed()}")
        self._folder.log("best", candidate=candidate.name, time_us=candidate.time_us)
        self._write()

    async def _heard(self, tool: str, done: float, total: float | None, message: str) -> None:
        part = f"{done:.0f} of {total:.0f}" if total else ""
        self._display.detail(" ".join(word for word in (tool, part, message) if word))

    async def _beat(self) -> None:
        """Keep the ledger and the progress file fresh while a long call runs."""
        while True:
            await anyio.sleep(_HEARTBEAT_S)
            self._write()

    def _write(self) -> None:
        best = self._best
        shown = None
        if best is not None and best.run_id is not None and best.profile is not None:
            speedup = best.profile.speedup
            shown = BestSoFar(
                run_id=best.run_id,
                time_us=best.time_us,
                time_source=best.profile.time_source,
                speedup=speedup.value if speedup and speedup.significant else None,
                verdict=best.test.verdict if best.test else "",
            )
        self._folder.write_progress(self._progress, shown, self._ledger.totals())
