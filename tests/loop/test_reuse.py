"""`--reuse-session`: one agent session for several deliverables, while its context has room."""

from pathlib import Path
from typing import Any

import pytest
from tests.loop.bench import Bench
from tests.loop.fakes import FAILED, FakeSession, deliverable

from runner.events import SessionResult
from runner.marker import Instruction, PromptMarker
from runner.ports import VerificationRun

pytestmark = pytest.mark.anyio


def _sessions(bench: Bench) -> list[Instruction]:
    """Return the instructions of the agents that were connected."""
    return [session.plan.instruction for session in bench.factory.sessions]


def _bench(folder: Path, below: int | None = 85) -> Bench:
    bench = Bench(folder, reuse_below_pct=below)
    bench.plan.put(deliverable(1), deliverable(2))
    return bench


async def test_two_deliverables_share_an_agent_that_has_room(tmp_path: Path) -> None:
    bench = _bench(tmp_path)
    await bench.execute()
    assert _sessions(bench) == [Instruction.CODING, Instruction.REVIEW]
    assert bench.instructions() == ["coding D-001", "coding D-002", "review"]


async def test_an_agent_with_a_full_context_is_not_kept(tmp_path: Path) -> None:
    bench = _bench(tmp_path, below=40)
    await bench.execute()
    assert _sessions(bench) == [Instruction.CODING, Instruction.CODING, Instruction.REVIEW]


async def test_every_agent_is_fresh_unless_it_is_asked_for(tmp_path: Path) -> None:
    bench = _bench(tmp_path, below=None)
    await bench.execute()
    assert len(bench.factory.sessions) == 3


async def test_a_failed_agent_is_not_kept(tmp_path: Path) -> None:
    class Failing(Bench):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            if len(self.factory.prompts) == 1:
                return FAILED
            return await super().work(session, marker)

    bench = Failing(tmp_path, reuse_below_pct=85)
    bench.plan.put(deliverable(1))
    await bench.execute()
    assert _sessions(bench)[:2] == [Instruction.CODING, Instruction.CODING]


async def test_what_was_kept_is_closed_in_the_end(tmp_path: Path) -> None:
    bench = _bench(tmp_path)
    await bench.execute()
    assert all(session.closed for session in bench.factory.sessions)


async def test_no_kept_agent_is_there_while_commands_are_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that it left running could change what the room is made from."""
    bench = Bench(tmp_path, reuse_below_pct=85)
    bench.plan.put(deliverable(1), deliverable(2, verification=("make check",)))
    verify, still_open = bench.judges.run, []

    async def run(*arguments: Any, **options: Any) -> VerificationRun:
        still_open.append([not session.closed for session in bench.factory.sessions])
        return await verify(*arguments, **options)

    monkeypatch.setattr(bench.judges, "run", run)
    await bench.execute()
    assert still_open
    assert not any(map(any, still_open))


async def test_the_control_plane_knows_the_usage_that_the_next_step_begins_with(
    tmp_path: Path,
) -> None:
    class Looking(Bench):
        seen: int | None = None

        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            if marker.task == "D-002":
                self.seen = self.ask("session", "status")["context_usage_pct"]
            return await super().work(session, marker)

    bench = Looking(tmp_path, reuse_below_pct=85)
    bench.plan.put(deliverable(1), deliverable(2))
    await bench.execute()
    assert bench.seen == 40
