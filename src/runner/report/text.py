"""A report as lines of at most 80 columns that hold nothing a terminal would act on."""

from collections.abc import Iterable, Iterator, Sequence

from runner.report import formats
from runner.report.facts import (
    DeliverableFact,
    FindingFact,
    PhaseFact,
    Report,
    Review,
    StepFact,
    Took,
    VerificationFact,
)
from runner.text.columns import columns, fit, labelled, wrap
from runner.text.messages import plural
from runner.text.safe import inert

WIDTH = 80
_MARKS = {"passed": "[PASS]", "blocked": "[BLOCKED]", "deprecated": "[GONE]"}
_MARK_WIDTH, _MOST_ID = 9, 24
_DELIVERABLES, _DENIALS, _FINDINGS, _STEPS = 60, 10, 10, 8


def report_lines(report: Report) -> Iterator[str]:
    """Yield the lines."""
    yield from _head(report)
    parts = (_needs, _plan, _problems, _deliverables, _phases, _costs, _denials, _rest)
    for part in parts:
        lines = list(part(report))
        if lines:
            yield ""
            yield from lines


def _head(report: Report) -> Iterator[str]:
    yield from wrap(report.spec_title or report.spec_id, WIDTH)
    yield from wrap(f"{report.outcome.headline}.", WIDTH)
    if report.outcome.detail and report.outcome.detail != report.outcome.headline:
        yield from wrap(report.outcome.detail, WIDTH)
    yield ""
    began, ended = report.began_at, report.last_at
    lasted = formats.duration((ended - began).total_seconds()) if began and ended else ""
    took = _took(report.took)
    if report.took != report.took_over_all:
        took += f"; {formats.cost(report.took_over_all.cost_usd)} over all runs"
    yield from labelled(
        (
            ("Spec", report.spec_id),
            ("Session", _session(report)),
            ("Project", report.project_dir),
            ("Began", formats.clock(began)),
            ("Last change", formats.clock(ended) + (f", after {lasted}" if lasted else "")),
            ("Deliverables", _counts(report)),
            ("Agents", took),
            ("Tool calls", f"{report.tools_total:,}, {report.denied_total} denied"),
            ("At work", report.driven_by),
        ),
        WIDTH,
    )


def _session(report: Report) -> str:
    return f"{report.session.id} ({report.session.status})" if report.session.id else "none yet"


def _counts(report: Report) -> str:
    counts = report.counts
    parts = [f"{counts.passed} of {counts.total} passed{report.remark}"]
    parts += [f"{counts.blocked} blocked"] if counts.blocked else []
    parts += [f"{counts.pending} pending"] if counts.pending else []
    return ", ".join(parts)


def _took(took: Took) -> str:
    sessions, seconds = plural(took.sessions, "session"), formats.duration(took.seconds)
    return f"{sessions}, {seconds}, {formats.cost(took.cost_usd)}"


def _needs(report: Report) -> Iterator[str]:
    if report.needs:
        yield "What needs a person"
    for need in report.needs:
        yield from wrap(need.text, WIDTH, "    ", "  - ")
        if need.command:
            yield f"      {inert(need.command)}"  # whole, so that it can be pasted


def _plan(report: Report) -> Iterator[str]:
    review = report.plan_review
    if review is None:
        return
    reviews = f", {plural(review.reviews, 'review')}" if review.reviews > 1 else ""
    yield f"Review of the plan: {review.stage} ({review.verdict}{reviews})"
    yield from wrap(review.summary, WIDTH, "  ", "  ")
    for finding in review.findings[:_FINDINGS]:
        yield from _finding(finding)
    yield from _more(len(review.findings) - _FINDINGS, "finding", "      ")


def _problems(report: Report) -> Iterator[str]:
    if report.problems:
        yield "Damaged or missing"
    for problem in report.problems:
        yield from wrap(problem, WIDTH, "    ", "  - ")


def _deliverables(report: Report) -> Iterator[str]:
    if not report.deliverables:
        return
    yield "Deliverables"
    shown = _most_telling(report.deliverables)
    width = max(columns(fit(item.id, _MOST_ID)) for item in shown)
    for item in shown:
        yield from _deliverable(item, width)
    yield from _more(report.deliverables_total - len(shown), "deliverable")


def _most_telling(items: Sequence[DeliverableFact]) -> Sequence[DeliverableFact]:
    """Return what fits: where it is too much, what has not passed goes before what has."""
    if len(items) <= _DELIVERABLES:
        return items
    done = ("passed", "deprecated")
    return sorted(items, key=lambda item: item.status in done)[:_DELIVERABLES]


def _deliverable(item: DeliverableFact, width: int) -> Iterator[str]:
    name = fit(item.id, _MOST_ID)
    name += " " * (width - columns(name))
    start = f"  {_MARKS.get(item.status, '[PENDING]'):<{_MARK_WIDTH}} {name}  "
    yield (start + fit(item.description, WIDTH - columns(start))).rstrip()
    margin = " " * columns(start)
    about = [_took(item.took)] if item.took.sessions else []
    if item.evidence is not None and item.evidence.failures:
        about.append(plural(item.evidence.failures, "failed step"))
    if item.waits_for:
        about.append(f"waits for {', '.join(item.waits_for)}")
    if about:
        yield margin + fit(", ".join(about), WIDTH - len(margin))


def _phases(report: Report) -> Iterator[str]:
    if report.phases:
        yield "Phases and gates"
    for phase in report.phases:
        yield from _phase(phase)


def _phase(phase: PhaseFact) -> Iterator[str]:
    word = "claimed" if phase.completed_at is None else "passed"
    ending = f"  {phase.passed}/{phase.total} {word}, {_gate(phase)}"
    yield "  " + fit(phase.title, WIDTH - 2 - columns(ending)) + ending
    if phase.took.sessions:
        lasted = (
            "" if phase.seconds is None else f", closed after {formats.duration(phase.seconds)}"
        )
        yield from wrap(_took(phase.took) + _tokens(phase) + lasted, WIDTH, "    ")
    for step in phase.steps[-_STEPS:]:
        yield from _step(step)
    yield from _more(phase.steps_total - min(len(phase.steps), _STEPS), "earlier step", "    ")
    for run in phase.verifications[-1:]:
        yield from _verification(run)
    for review in phase.reviews[-1:]:
        yield from _review(review)


def _tokens(phase: PhaseFact) -> str:
    told = sum(use.tokens for use in phase.models)
    return f", {formats.tokens(told)} tokens" if told else ""


def _gate(phase: PhaseFact) -> str:
    if phase.gate is None:
        return "no gate" if phase.known else "gate not known"
    cycles = f", {plural(phase.cycles, 'review')}" if phase.cycles > 1 else ""
    waits = ", waits for a person" if phase.awaits_person else ""
    return f"gate {fit(phase.gate, _MOST_ID)}{cycles}{waits}"


def _step(step: StepFact) -> Iterator[str]:
    when = formats.short(step.at) if step.at else "-"
    about = f"{formats.step(step.type)} {step.task_id or ''}".strip()
    yield "    " + fit(f"{when}  {about}: {step.outcome}. {step.note}".rstrip(), WIDTH - 4)


def _verification(run: VerificationFact) -> Iterator[str]:
    for command in run.commands:
        code = "?" if command.exit_code is None else command.exit_code
        yield from wrap(f"{command.text}: exit {code}", WIDTH, "        ", "    $ ")
    if run.receipt_hash:
        standing = "accepted" if run.accepted else "missing or changed"
        yield "      " + fit(f"receipt {run.receipt_hash[:19]}, {standing}", WIDTH - 6)


def _review(review: Review) -> Iterator[str]:
    verdict = f"Review: {review.verdict}"
    yield from wrap(f"{verdict}. {review.summary}" if review.summary else verdict, WIDTH, "    ")
    for finding in review.findings[:_FINDINGS]:
        yield from _finding(finding)
    yield from _more(len(review.findings) - _FINDINGS, "finding", "      ")


def _finding(finding: FindingFact) -> Iterator[str]:
    places = ", ".join(filter(None, (finding.deliverable_id, finding.file)))
    named = f" ({places})" if places else ""
    yield from wrap(f"{finding.severity}: {finding.title}{named}", WIDTH, "        ", "      - ")


def _costs(report: Report) -> Iterator[str]:
    if not report.work:
        return
    yield "Cost and tokens"
    rows = [(_kind(work.instruction), _took(work.took)) for work in report.work]
    for use in report.models:
        cached = use.cache_read_tokens + use.cache_write_tokens
        counts = (("in", use.input_tokens), ("out", use.output_tokens), ("cache", cached))
        told = ", ".join(f"{formats.tokens(count)} {what}" for what, count in counts)
        rows.append((fit(use.model, 30), f"{told}, {formats.cost(use.cost_usd)}"))
    yield from (f"  {line}" for line in labelled(rows, WIDTH - 2))
    if not report.recorded:
        told = "Not every session was recorded one by one: tokens and models tell of a part."
        yield from wrap(told, WIDTH, "  ")


def _kind(instruction: str) -> str:
    return fit(formats.instruction(instruction), _MOST_ID)


def _denials(report: Report) -> Iterator[str]:
    if not report.denied_total:
        return
    yield f"Denied tool calls ({report.denied_total})"
    for denial in report.denials[-_DENIALS:]:
        yield "  " + fit(f"session {denial.session}, {denial.tool}: {denial.input}", WIDTH - 2)
        yield from wrap(denial.reason, WIDTH, "    ")
    yield from _more(report.denied_total - min(len(report.denials), _DENIALS), "denied call")


def _rest(report: Report) -> Iterator[str]:
    for run in report.runs[-1:]:
        said = f"The last run ended {formats.clock(run.at)} ({run.exit_reason}): {run.message}"
        yield from wrap(said, WIDTH)
    if report.cuts:
        yield from wrap(f"Left out: {'; '.join(report.cuts)}.", WIDTH)
    yield from wrap("`runner report --html report.html` writes the whole report as a page.", WIDTH)


def _more(count: int, what: str, margin: str = "  ") -> Iterable[str]:
    return (f"{margin}and {plural(count, what)} more",) if count > 0 else ()
