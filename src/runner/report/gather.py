"""Gather the facts of a report. What is damaged or missing is named in it, never an error."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from runner.checkpoints.ledger import STEP, CheckpointLedger, was_rolled_back
from runner.deliverables import model
from runner.deliverables.model import Counts, Status, StatusFile
from runner.deliverables.repository import StatusRepository
from runner.deliverables.spec_text import SpecText
from runner.deliverables.workspace import status_path
from runner.errors import RunnerError
from runner.files import read_regular
from runner.loop.plan_decision import has_begun, plan_decision
from runner.loop.planning import idle_commands
from runner.records.agent_sessions import history_lines, history_path
from runner.records.baseline import unproved_sentences
from runner.records.effort import Effort, Efforts, Purpose, of_deliverables, of_phase, total
from runner.records.phases import phase_rows, proof_of
from runner.records.plan_reviews import PlanBook, PlanStage
from runner.records.run_lock import current_holder
from runner.records.spending import Spend, SpendBook
from runner.report.evidence import MOST_FINDINGS, Receipts, Reviews, finding_of
from runner.report.facts import (
    AutonomousSessionFact,
    DeliverableFact,
    Event,
    ModelUse,
    PhaseFact,
    PlanReviewFact,
    Report,
    Took,
    VerificationFact,
    WorkFact,
)
from runner.report.history import History, HistoryReader
from runner.report.journal import JournalReader, OfPhase, PageOf, Told, entries_of
from runner.report.outcome import NO_SESSION, needs_of, outcome_of, problems_of_view
from runner.report.words import Words, amount, count, moment, name, rows, table
from runner.text.messages import plural

_PHASES, _DELIVERABLES, _CRITERIA, _VERIFICATIONS, _PHASE_MODELS = 200, 3_000, 40, 12, 20
_PHASE_TITLE, _PHASE_TEXT, _COMMAND = 300, 600, 500


def took(effort: Effort) -> Took:
    """Return an effort as a report tells it."""
    return Took(effort.cost_usd, effort.seconds, effort.sessions)


@dataclass(frozen=True)
class Assembler:
    """Puts phases and deliverables together.

    Attributes:
        file: the deliverables, None where nobody knows them.
        view: of the autonomous session.
        told: what its journal tells.
        efforts: what sessions took.
        models_of: tells what was taken of each model in phases.
    """

    file: StatusFile | None
    view: Mapping[str, Any]
    told: Told
    efforts: Efforts
    models_of: Callable[[Iterable[str | None]], list[ModelUse]]
    receipts: Receipts
    reviews: Reviews
    words: Words

    def phases(self) -> list[PhaseFact]:
        """Return all phases in their order."""
        known = {str(row.get("phase_id")): row for row in self._rows()}
        listed = {phase.id: phase.title for phase in self._listed()}
        gone = {i: name(row.get("title")) or i for i, row in known.items() if i not in listed}
        ids = self.words.first({**listed, **gone}.items(), _PHASES, "phases")
        return [self._phase(i, title, known.get(i, {})) for i, title in ids]

    def deliverables(self) -> list[DeliverableFact]:
        """Return all deliverables, those of a phase together."""
        if self.file is None:
            return []
        gone = tuple(d for d in self.file.deliverables if not d.is_active)
        listed = (*self.file.in_phase_order, *gone)
        efforts = of_deliverables(self.efforts)
        shown = self.words.first(listed, _DELIVERABLES, "deliverables")
        return [self._deliverable(self.file, d, efforts.get(d.id, Effort())) for d in shown]

    def _listed(self) -> Iterator[model.Phase]:
        if self.file is not None:
            yield from (p for p in self.file.ordered_phases if self.file.of_phase(p.id))

    def _rows(self) -> list[Mapping[str, Any]]:
        return rows(table(self.view.get("progress")).get("phases"))

    def _phase(self, phase_id: str, title: str, row: Mapping[str, Any]) -> PhaseFact:
        gate = table(table(self.view.get("phase_gates")).get(phase_id))
        waits = table(self.view.get("pending_manual_gate_ack"))
        entries = self.told.phases.get(phase_id, OfPhase())
        items = self.file.of_phase(phase_id) if self.file else ()
        statuses = [item.status for item in items]
        seconds = row.get("duration_seconds")
        return PhaseFact(
            id=phase_id[:200],
            title=self.words.text(title, _PHASE_TITLE),
            total=len(items) or count(row.get("tasks_total")),
            passed=statuses.count(Status.PASSED) if items else count(row.get("tasks_completed")),
            blocked=statuses.count(Status.BLOCKED),
            known=bool(row),
            started_at=moment(row.get("started_at")),
            completed_at=moment(row.get("completed_at")),
            seconds=None if seconds is None else amount(seconds),
            gate=name(row.get("gate_status")),
            verdict=name(gate.get("verdict")),
            cycles=count(gate.get("cycles")),
            acknowledged=gate.get("acknowledged") is True,
            awaits_person=bool(waits) and waits.get("phase_id") == phase_id,
            waiver_reason=self.words.text(gate.get("waiver_reason"), _PHASE_TEXT),
            verified_at=moment(gate.get("verified_at")),
            steps_total=entries.total,
            steps=tuple(reversed(entries.steps)),
            verifications=tuple(self._verifications(entries)),
            reviews=tuple(reversed(self.reviews.complete(entries.reviews, gate))),
            took=took(of_phase(self.efforts, phase_id)),
            models=tuple(self.models_of([phase_id])[:_PHASE_MODELS]),
        )

    def _verifications(self, entries: OfPhase) -> list[VerificationFact]:
        found: list[VerificationFact] = []
        for step_id, receipt_hash in reversed(entries.receipts.items()):
            found += self.receipts.of_step(step_id, receipt_hash)
        return self.words.newest(found, _VERIFICATIONS, "older verifications")

    def _deliverable(
        self, file: StatusFile, item: model.Deliverable, effort: Effort
    ) -> DeliverableFact:
        criteria = self.words.first(item.acceptance_criteria, _CRITERIA, "acceptance criteria")
        commands = self.words.first(item.verification, _CRITERIA, "verification commands")
        unmet = () if item.status is Status.PASSED else file.unmet_dependencies(item)
        return DeliverableFact(
            id=item.id[:200],
            description=self.words.text(item.description, _PHASE_TEXT),
            status=item.status.value if item.is_active else "deprecated",
            phase_id=item.phase_id[:200],
            criteria=tuple(self.words.text(text, _PHASE_TEXT) for text in criteria),
            waits_for=tuple(i[:200] for i in unmet[:_CRITERIA]),
            verification=tuple(self.words.text(text, _COMMAND) for text in commands),
            evidence=self.told.evidence.get(item.id),
            took=took(effort),
        )


SESSIONS = 1_500
_OTHERS, _MODELS = 20, 50
_SPEC_BYTES, _NOTE_BYTES, _NOTE = 64 * 1024, 64 * 1024, 4_000
_TEXT = 1_000
_TITLE = 150


@dataclass(frozen=True)
class Sources:
    """What a report is made from.

    Attributes:
        view: of the autonomous session, its commands as they are to be pasted.
        siblings: the sessions of the spec in short, the oldest first.
        page_of: reads the session's journal.
        read_review: reads a review that the journal names; raises OSError or ValueError.
        run_command: `runner run` for this project.
        sync_command: `runner sync` for it.
        place: what other commands need to mean this project.
        redact: takes credentials out of a text.
    """

    project_dir: Path
    view: Mapping[str, Any]
    siblings: Sequence[Mapping[str, Any]]
    page_of: PageOf
    read_review: Callable[[str], bytes]
    run_command: str
    sync_command: str
    redact: Callable[[str], str]
    version: str
    now: datetime
    place: str = ""


class Costs(NamedTuple):
    """What sessions took; `recorded` as in `Report`."""

    efforts: Efforts
    took: Took
    over_all: Took
    recorded: bool


def gather(sources: Sources) -> Report:
    """Return the facts. Reads alone; never raises for what it finds in files."""
    return _Gathering(sources).report()


class _Gathering:
    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._project = sources.project_dir
        self._words = Words(sources.redact)
        self._problems: list[str] = []
        self._begun = sources.view.get("status") != NO_SESSION

    def report(self) -> Report:
        view, words = self._sources.view, self._words
        file, history, told = self._status(), self._history(), self._journal()
        self._problems += problems_of_view(view, words)
        holder = current_holder(self._project)
        costs = self._costs(history)
        rolled_back, spec_text = was_rolled_back(self._project), SpecText(self._project)
        begun = file is not None and has_begun(file, known=self._begun)
        plan = plan_decision(self._project, file, known=self._begun)
        needs = needs_of(
            view,
            file,
            words,
            driven=holder is not None,
            spec_edited=spec_text.seems_edited(),
            rolled_back=rolled_back,
            looped=spec_text.is_noted,
            run_command=self._sources.run_command,
            sync_command=self._sources.sync_command,
            plan=plan,
            place=self._sources.place,
        )
        counts = file.counts if file is not None else Counts()
        proof = proof_of(counts.passed, phase_rows(view))
        last_run = history.runs[-1] if history.runs else None
        report = Report(
            generated_at=self._sources.now,
            runner_version=self._sources.version,
            project_dir=words.text(str(self._project), 1_000),
            spec_id=words.text(view.get("spec_id") or (file.spec_id if file else "?"), 200),
            spec_title=self._spec_title(),
            session=self._session(view),
            outcome=outcome_of(
                view, file, last_run, driven=holder is not None, rolled_back=rolled_back, plan=plan
            ),
            counts=replace(counts, passed=proof.passed),
            claimed=proof.claimed,
            verified=proof.verified,
            closed=proof.closed,
            remark=proof.remark,
            began_at=_first(history, view),
            last_at=_last(history, told, view),
            took=costs.took,
            took_over_all=costs.over_all,
            recorded=costs.recorded,
            driven_by="" if holder is None else f"process {holder.pid or '?'}",
            denied_total=sum(session.denied for session in history.sessions),
            tools_total=sum(session.tools for session in history.sessions),
            needs=tuple(needs),
            plan_review=self._plan_review(file, begun=begun),
            work=tuple(_work(costs.efforts)),
            models=tuple(words.first(history.models_of(history.uses), _MODELS, "models")),
        )
        return self._completed(report, file, history, told, costs)

    def _completed(
        self, report: Report, file: StatusFile | None, history: History, told: Told, costs: Costs
    ) -> Report:
        words = self._words
        assembler = Assembler(
            file,
            self._sources.view,
            told,
            costs.efforts,
            history.models_of,
            Receipts.of(self._project, words, _commands(file)),
            Reviews(self._sources.read_review, words),
            words,
        )
        words.omit("older refused tool calls", report.denied_total - len(history.denials))
        phases, deliverables = assembler.phases(), assembler.deliverables()
        self._check_receipts(assembler.receipts)
        report = replace(
            report,
            phases=tuple(phases),
            deliverables=tuple(deliverables),
            deliverables_total=len(file.deliverables) if file is not None else 0,
            models_outside=tuple(
                history.models_of(set(history.uses) - {phase.id for phase in phases})[:_MODELS]
            ),
            sessions=tuple(words.newest(history.sessions, SESSIONS, "older agent sessions")),
            runs=tuple(history.runs),
            denials=tuple(history.denials),
            events=tuple(sorted((*reversed(told.events), *history.waits), key=_time)),
            note=self._note(),
            other_sessions=tuple(self._others()),
        )
        inside = f"{self._project}/"
        problems = tuple(problem.replace(inside, "") for problem in self._problems)
        return replace(report, problems=problems, cuts=words.cuts)

    def _status(self) -> StatusFile | None:
        try:
            file = StatusRepository(status_path(self._project)).load()
        except RunnerError as error:
            self._problems.append(self._words.text(error.message, 1_000))
            return None
        if file is None and self._begun:
            self._problems.append(f"{status_path(self._project)} is missing.")
        unproved = unproved_sentences(self._project, file)
        said = (*idle_commands(file), *unproved)
        self._problems += [self._words.text(one, 1_000) for one in said]
        return file

    def _plan_review(self, file: StatusFile | None, *, begun: bool) -> PlanReviewFact | None:
        record = PlanBook(self._project).stand(file, begun=begun) if file is not None else None
        if record is None or record.verdict is None:
            return None
        words = self._words
        found = words.first(record.findings, MOST_FINDINGS, "findings about the plan")
        return PlanReviewFact(
            record.stage.value,
            words.text(record.verdict, 100),
            record.rounds,
            record.stage is PlanStage.REFUSED,
            words.text(record.summary, _TEXT),
            tuple(finding_of(row, words) for row in found),
        )

    def _history(self) -> History:
        reader = HistoryReader(_within(self._sources), self._words)
        try:
            history = reader.read(history_lines(self._project))
        except (OSError, RuntimeError) as error:
            path = history_path(self._project)
            self._problems.append(f"{path} can't be read: {_reason(error)}.")
            return reader.history
        if history.damaged:
            path = history_path(self._project)
            self._problems.append(f"{path} has {history.damaged} damaged lines.")
        return history

    def _journal(self) -> Told:
        steps = [c for c in CheckpointLedger(self._project).entries() if c.kind == STEP]
        reader = JournalReader(self._words, {c.name: c.commit for c in steps})
        try:
            told = reader.read(entries_of(self._sources.page_of))
        except OSError as error:
            self._problems.append(f"The session's journal can't be read: {_reason(error)}.")
            return reader.told
        if not told.entries and self._begun:
            self._problems.append("The session's journal is missing or empty.")
        return told

    def _session(self, view: Mapping[str, Any]) -> AutonomousSessionFact:
        lifecycle = table(view.get("lifecycle"))
        return AutonomousSessionFact(
            id=name(view.get("session_id")) or ("?" if self._begun else ""),
            status=name(view.get("effective_status")) or name(view.get("status")) or "?",
            created_at=moment(view.get("created_at")),
            updated_at=moment(view.get("updated_at")),
            pause_reason=name(view.get("pause_reason")),
            failure_reason=name(view.get("failure_reason")),
            resume_count=count(lifecycle.get("resume_count")),
            gate_policy=name(view.get("gate_policy")),
            gates_required=view.get("gates_required") is not False,
            last_error=self._words.text(lifecycle.get("last_error"), 1_000),
        )

    def _costs(self, history: History) -> Costs:
        """Return what sessions took, by the budget's account where that fits the report.

        It knows what sessions cost that were killed; but not which session of a spec they
        belonged to.
        """
        spend = self._spend()
        own = _efforts(history)
        if spend is None or spend.sessions < history.all_sessions:  # it was lost, or moved away
            return Costs(own, history.took, history.took, recorded=True)
        efforts = spend.efforts_with(spend.open_purpose, Effort(spend.open_usd or 0.0))
        seconds = total(efforts.values()).seconds
        over_all = Took(spend.total_usd, seconds, spend.sessions)
        if len(self._sources.siblings) > 1:
            if history.all_sessions >= spend.sessions:
                return Costs(own, history.took, over_all, recorded=True)
            return Costs(efforts, over_all, over_all, recorded=False)
        return Costs(efforts, over_all, over_all, len(history.sessions) >= spend.sessions)

    def _spend(self) -> Spend | None:
        try:
            return SpendBook(self._project).load()
        except RunnerError as error:
            self._problems.append(self._words.text(error.message, 1_000))
            return None

    def _check_receipts(self, receipts: Receipts) -> None:
        for step_id, lost in receipts.damaged.items():
            runs = plural(lost, "verification")
            self._problems.append(f"What {runs} of {step_id} gave can't be read.")
        for phase_id, gate in table(self._sources.view.get("phase_gates")).items():
            wanted = name(table(gate).get("receipt_hash"))
            if wanted and wanted not in receipts.accepted:
                told = self._words.text(phase_id, 200)
                self._problems.append(
                    f"The verification receipt of {told} is missing or was changed."
                )

    def _spec_title(self) -> str:
        try:
            text = read_regular(
                self._project / "SPEC.md", limit=_SPEC_BYTES, within=self._project
            ).decode("utf-8", "replace")
        except OSError:
            return ""
        heading = next((line for line in text.splitlines() if line.startswith("# ")), "")
        return self._words.text(heading.removeprefix("# ").strip(), _TITLE)

    def _note(self) -> str:
        try:
            content = read_regular(
                self._project / ".runner-note.md", limit=_NOTE_BYTES, within=self._project
            )
        except OSError:
            return ""
        return self._words.text(content.decode("utf-8", "replace"), _NOTE)

    def _others(self) -> Iterator[str]:
        own = self._sources.view.get("session_id")
        ids = [i for row in self._sources.siblings if (i := name(row.get("session_id"))) != own]
        yield from self._words.newest([i for i in ids if i], _OTHERS, "older sessions of the spec")


def _within(sources: Sources) -> Callable[[datetime], bool]:
    """Return what says whether an agent session began in the time of the autonomous session.

    Planning comes before it; so that time begins where the session before has ended.
    """
    ids = [row.get("session_id") for row in sources.siblings]
    own = sources.view.get("session_id")
    position = ids.index(own) if own in ids else len(ids)
    after = moment(sources.siblings[position - 1].get("updated_at")) if position else None
    is_last = position >= len(ids) - 1
    until = None if is_last else moment(sources.view.get("updated_at"))

    def within(at: datetime) -> bool:
        return (after is None or at > after) and (until is None or at <= until)

    return within


def _efforts(history: History) -> Efforts:
    found: dict[Purpose, Effort] = {}
    for session in history.sessions:
        purpose = Purpose(session.instruction, session.phase_id, session.task_id)
        effort = Effort(session.cost_usd, session.seconds, 1)
        found[purpose] = found.get(purpose, Effort()) + effort
    return found


def _work(efforts: Efforts) -> Iterator[WorkFact]:
    for instruction in dict.fromkeys(purpose.instruction for purpose in efforts):
        of_it = (
            effort for purpose, effort in efforts.items() if purpose.instruction == instruction
        )
        yield WorkFact(instruction[:200], took(total(of_it)))


def _commands(file: StatusFile | None) -> Iterator[str]:
    if file is not None:
        for phase in file.phases:
            yield from phase.verification
        for item in file.deliverables:
            yield from item.verification


def _first(history: History, view: Mapping[str, Any]) -> datetime | None:
    began = [session.started_at for session in history.sessions[:1]]
    created = moment(view.get("created_at"))
    return min([*began, *([created] if created else [])], default=None)


def _last(history: History, told: Told, view: Mapping[str, Any]) -> datetime | None:
    ends = [session.ended_at or session.started_at for session in history.sessions[-1:]]
    known = [moment(view.get("updated_at")), told.last_at]
    return max([*ends, *(at for at in known if at)], default=None)


def _time(event: Event) -> float:
    return event.at.timestamp() if event.at is not None else 0.0


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
