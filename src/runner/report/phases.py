"""Phases and deliverables of a report, put together from what is known of each."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runner.deliverables import model
from runner.deliverables.model import Status, StatusFile
from runner.records.effort import Effort, Efforts, of_deliverables, of_phase
from runner.report.evidence import Receipts, Reviews
from runner.report.facts import Deliverable, ModelUse, Phase, Took, Verification
from runner.report.journal import OfPhase, Told
from runner.report.words import Words, amount, count, moment, name, rows, table

_PHASES, _DELIVERABLES, _CRITERIA, _VERIFICATIONS, _MODELS = 200, 3_000, 40, 12, 20
_TITLE, _TEXT, _COMMAND = 300, 600, 500


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

    def phases(self) -> list[Phase]:
        """Return all phases in their order."""
        known = {str(row.get("phase_id")): row for row in self._rows()}
        listed = {phase.id: phase.title for phase in self._listed()}
        gone = {i: name(row.get("title")) or i for i, row in known.items() if i not in listed}
        ids = self.words.first({**listed, **gone}.items(), _PHASES, "phases")
        return [self._phase(i, title, known.get(i, {})) for i, title in ids]

    def deliverables(self) -> list[Deliverable]:
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

    def _phase(self, phase_id: str, title: str, row: Mapping[str, Any]) -> Phase:
        gate = table(table(self.view.get("phase_gates")).get(phase_id))
        waits = table(self.view.get("pending_manual_gate_ack"))
        entries = self.told.phases.get(phase_id, OfPhase())
        items = self.file.of_phase(phase_id) if self.file else ()
        statuses = [item.status for item in items]
        seconds = row.get("duration_seconds")
        return Phase(
            id=phase_id[:200],
            title=self.words.text(title, _TITLE),
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
            waiver_reason=self.words.text(gate.get("waiver_reason"), _TEXT),
            verified_at=moment(gate.get("verified_at")),
            steps_total=entries.total,
            steps=tuple(reversed(entries.steps)),
            verifications=tuple(self._verifications(entries)),
            reviews=tuple(reversed(self.reviews.complete(entries.reviews, gate))),
            took=took(of_phase(self.efforts, phase_id)),
            models=tuple(self.models_of([phase_id])[:_MODELS]),
        )

    def _verifications(self, entries: OfPhase) -> list[Verification]:
        found: list[Verification] = []
        for step_id, receipt_hash in reversed(entries.receipts.items()):
            found += self.receipts.of_step(step_id, receipt_hash)
        return self.words.newest(found, _VERIFICATIONS, "older verifications")

    def _deliverable(
        self, file: StatusFile, item: model.Deliverable, effort: Effort
    ) -> Deliverable:
        criteria = self.words.first(item.acceptance_criteria, _CRITERIA, "acceptance criteria")
        commands = self.words.first(item.verification, _CRITERIA, "verification commands")
        unmet = () if item.status is Status.PASSED else file.unmet_dependencies(item)
        return Deliverable(
            id=item.id[:200],
            description=self.words.text(item.description, _TEXT),
            status=item.status.value if item.is_active else "deprecated",
            phase_id=item.phase_id[:200],
            criteria=tuple(self.words.text(text, _TEXT) for text in criteria),
            waits_for=tuple(i[:200] for i in unmet[:_CRITERIA]),
            verification=tuple(self.words.text(text, _COMMAND) for text in commands),
            evidence=self.told.evidence.get(item.id),
            took=took(effort),
        )
