"""What reviewers and planners are told of commands that pass before any work.

The runner's own findings stand outside the fences; commands and output, which agents wrote, inside.
"""

from collections.abc import Iterator, Sequence

from runner.deliverables.model import Deliverable, StatusFile
from runner.records.baseline import LOST, BaselineRecord, Outcome, Result
from runner.text.messages import plural
from runner.text.safe import fenced, inline, one_line, shortened

_CHARACTERS = 40_000

_FOR_THE_PLAN = """\
The runner ran the verification commands of this plan on the project as it is now, before any work on it, in the
way in which it will run them to prove the work. A command that passes now passes without the work: it proves
nothing about it. That also goes for a test runner that finds no test. A command that fails now is able to fail;
whether it checks the right thing is for you to judge."""

_TO_DECIDE = """\
As it is planned, nothing checks the deliverables of which every command passes already. Whoever does nothing would pass
them. Accept that only where the deliverable adds tests of its own to a suite which that very command runs, and a
criterion names them; then give that reason in your summary, for each of these deliverables by its id. Otherwise it is a finding of
severity `major` with the `deliverableId`: the plan has to name a command that fails as long as the deliverable is
not built. With such a finding the verdict is `fail`."""

_FOR_THE_WORK = """\
Before any work the runner ran the verification commands as well. Every command of these deliverables passed then, so its
exit code proves nothing about them now. Only tests that were added since, and what you see yourself, can. Look
whether such tests exist, whether the command runs them, and whether they fail without the work:"""


def for_the_plan(tried: BaselineRecord, file: StatusFile) -> Iterator[str]:
    """Yield what the reviewer of a plan is told of its commands."""
    if not any(tried.of(d) for d in file.active):
        return
    yield "### The verification commands before any work"
    yield _FOR_THE_PLAN
    yield _counted(tried, file.in_phase_order)
    if tried.unproved(file):
        yield _TO_DECIDE
    if any(r.remark for d in file.active for r in tried.of(d)):
        yield "What stands with a remark below was not run to its end, or lacked its dependencies."
    yield from _shown(tried, file.in_phase_order)


def for_the_planner(tried: BaselineRecord, file: StatusFile) -> Iterator[str]:
    """Yield what a planner who corrects a plan is told of its commands."""
    found = tried.unproved(file)
    if found:
        yield "The runner ran the verification commands before any work on the plan."
        yield _counted(tried, found)
        yield "A command that passes without the work proves nothing. These pass already:"
        yield from _shown(tried, found)


def for_the_work(
    tried: BaselineRecord, file: StatusFile | None, phase_id: str, *, whole: bool
) -> Iterator[str]:
    """Yield what a reviewer of the work is told; of all phases where the whole is reviewed."""
    if tried.damaged:
        yield f"The runner's record of that is damaged: {LOST}."
    found = [d for d in tried.unproved(file) if whole or d.phase_id == phase_id]
    if found:
        yield "### What the verification commands do not prove"
        yield _FOR_THE_WORK
        yield _counted(tried, found)
        yield from _shown(tried, found)


def _counted(tried: BaselineRecord, deliverables: Sequence[Deliverable]) -> str:
    """Return a line for each deliverable; its commands are named by their numbers."""
    lines = []
    for deliverable in deliverables:
        results = tried.of(deliverable)
        if results:
            of_phase = "" if deliverable.verification else " (it has none of its own: its phase's)"
            lines.append(f"- {inline(deliverable.id)}{of_phase}: {_sums(results)}")
    return "\n".join(lines)


def _sums(results: Sequence[Result]) -> str:
    numbers = {
        outcome: [str(n) for n, r in enumerate(results, 1) if r.outcome is outcome]
        for outcome in Outcome
    }
    if len(numbers[Outcome.PASSES]) == len(results):
        return f"EVERY command passes without the work ({plural(len(results), 'command')})"
    words = {
        Outcome.PASSES: "passes without the work",
        Outcome.FAILS: "fails, as it should",
        Outcome.NOT_RUN: "could not be run, so nothing is known of it",
    }
    return "; ".join(
        f"command {', '.join(found)} of {len(results)} {words[outcome]}"
        for outcome, found in numbers.items()
        if found
    )


def _shown(tried: BaselineRecord, deliverables: Sequence[Deliverable]) -> Iterator[str]:
    """Yield what tells something: commands that pass, and those that have a remark."""
    every = {r.command: r for d in deliverables for r in tried.of(d)}
    found = {c: r for c, r in every.items() if r.outcome is Outcome.PASSES or r.remark}
    if found:
        text = "\n\n".join(map(_result, found.values()))
        yield fenced(shortened(text, _CHARACTERS), "output")


def _result(result: Result) -> str:
    said = {Outcome.PASSES: "passes", Outcome.FAILS: "fails", Outcome.NOT_RUN: "could not be run"}
    head = f"{said[result.outcome]} (exit code {result.exit_code})"
    remark = f"remark: {result.remark}" if result.remark else ""
    parts = [f"$ {one_line(result.command)}", head, remark, result.output.strip()]
    return "\n".join(part for part in parts if part)
