"""Many real processes at once, and processes that are killed."""

import json
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

import runner
from runner.deliverables.model import Status
from runner.deliverables.repository import StatusRepository
from runner.deliverables.transitions import DeliverableDraft, create

pytestmark = pytest.mark.process

_SOURCE = str(Path(runner.__file__).parents[1])


def _python(code: str, *args: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *args],
        env={**os.environ, "PYTHONPATH": _SOURCE},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _repository(tmp_path: Path, count: int) -> StatusRepository:
    repository = StatusRepository(tmp_path / ".runner" / "status.json")
    drafts = [DeliverableDraft(f"UI-{number:03d}", "Thing", ("works",)) for number in range(count)]
    repository.update(lambda file: create(file, drafts))
    return repository


def test_twenty_processes_at_once_lose_no_status(tmp_path: Path) -> None:
    repository = _repository(tmp_path, 20)
    code = """
        import sys
        from pathlib import Path
        from runner.deliverables.repository import StatusRepository
        from runner.deliverables.tools import DeliverableTools
        tools = DeliverableTools(StatusRepository(Path(sys.argv[1]), lock_timeout=60))
        import filelock
        print("ready", flush=True)
        sys.stdin.readline()
        tools.set_status({"deliverableId": sys.argv[2], "status": "passed"})
        """
    children = [_python(code, str(repository.path), f"UI-{n:03d}") for n in range(20)]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    assert [child.communicate(timeout=60)[0] for child in children] == [""] * 20
    assert [child.returncode for child in children] == [0] * 20
    file = repository.load()
    assert file is not None
    assert [d.status for d in file.deliverables] == [Status.PASSED] * 20


def test_processes_that_create_the_file_together_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / ".runner" / "status.json"
    code = """
        import sys
        from pathlib import Path
        from runner.deliverables.repository import StatusRepository
        from runner.deliverables.transitions import DeliverableDraft, create
        drafts = [DeliverableDraft(sys.argv[2], "Thing", ("works",))]
        StatusRepository(Path(sys.argv[1]), lock_timeout=60).update(lambda f: create(f, drafts))
        """
    children = [_python(code, str(path), f"UI-{n:03d}") for n in range(6)]
    for child in children:
        child.communicate(timeout=60)
    file = StatusRepository(path).load()
    assert file is not None
    assert sorted(d.id for d in file.deliverables) == [f"UI-{n:03d}" for n in range(6)]


def test_killed_writers_leave_a_whole_file_and_a_free_lock(tmp_path: Path) -> None:
    repository = _repository(tmp_path, 200)
    code = """
        import sys
        from pathlib import Path
        from runner.deliverables.model import Status
        from runner.deliverables.repository import StatusRepository
        from runner.deliverables.transitions import set_status
        repository = StatusRepository(Path(sys.argv[1]))
        print("ready", flush=True)
        while True:
            for status in (Status.PASSED, Status.PENDING):
                repository.update(lambda file: set_status(file, "UI-100", status))
        """
    for round_number in range(20):
        with _python(code, str(repository.path)) as child:
            assert child.stdout is not None
            child.stdout.readline()
            threading.Event().wait(0.08 + 0.002 * round_number)
            child.kill()
        document = json.loads(repository.path.read_bytes())
        assert len(document["deliverables"]) == 200
    file = StatusRepository(repository.path, lock_timeout=1).update(
        lambda current: create(current, [DeliverableDraft("UI-900", "Thing", ("works",))])
    )
    assert file.counts.total == 201


def test_a_user_without_permission_is_told_what_to_check(tmp_path: Path) -> None:
    repository = _repository(tmp_path, 1)
    before = repository.path.read_bytes()
    repository.path.chmod(0o600 if os.geteuid() == 0 else 0)
    # Root may read anything, so the child gives that up; it can't follow an absolute path then.
    code = """
        import os, sys
        from pathlib import Path
        from runner.deliverables.repository import StatusRepository
        from runner.errors import StateError
        os.chdir(sys.argv[1])
        if os.geteuid() == 0:
            os.setuid(65534)
        try:
            StatusRepository(Path(".runner/status.json")).load()
        except StateError as error:
            print(error)
        """
    with _python(code, str(tmp_path)) as child:
        said, _ = child.communicate(timeout=30)
    repository.path.chmod(0o600)
    assert said.startswith(".runner/status.json can't be read: Permission denied.")
    assert repository.path.read_bytes() == before


def test_importing_the_tools_imports_nothing_heavy() -> None:
    code = """
        import sys
        import runner.deliverables.tools
        heavy = {"pydantic", "filelock", "asyncio", "typer", "rich", "mcp", "claude_agent_sdk"}
        print(sorted(heavy & set(sys.modules)))
        """
    with _python(code) as child:
        assert child.communicate(timeout=60)[0] == "[]\n"
