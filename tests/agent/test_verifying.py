"""The runner runs verification commands itself: real commands, real processes, real sandbox."""

import hashlib
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.agent.processes import (
    LINUX_REASON,
    MARK,
    ON_LINUX,
    marked,
    wait_until,
    wait_until_none_is_left,
)
from tests.sandbox.test_probe import contains

from runner.autonomy.inputs import Receipt
from runner.errors import StateWriteError, UsageError
from runner.events import Checking, CheckStage
from runner.ports import VerificationRun, VerifiedCommand
from runner.records.receipts import BASELINE, latest_run
from runner.sandbox.probe import ContainmentRequest, contained
from runner.sandbox.status import Containment
from runner.shell_policy.decision import Decision, PolicySettings
from runner.verification.verifier import (
    TIMED_OUT,
    SandboxedVerifier,
    judge_verification,
    make_verifier,
    verification_problem,
)

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not ON_LINUX, reason=LINUX_REASON),
]

STEP = "step_01JABCDEFGHJKMNPQRSTVWXYZ0"
PYTHON = sys.executable

# A daemon in a session of its own that no signal but SIGKILL ends, and that keeps stdout open.
DAEMON = """
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(600)
print("started", flush=True)
"""


@pytest.fixture
def mark(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Mark the processes of one test; neither they nor launchers may be left after it."""
    launchers = tmp_path / "launchers"
    launchers.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(launchers))
    name = f"{os.getpid()}-{request.node.name}"
    yield name
    wait_until_none_is_left(name)
    assert list(launchers.iterdir()) == []


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


Make = Callable[..., SandboxedVerifier]


@pytest.fixture
def make(project: Path, mark: str) -> Make:
    """Make a verifier without sandbox that runs everything."""

    def made(**changed: Any) -> SandboxedVerifier:
        fields = {
            "judge": lambda _: Decision.allow("test"),
            "wrap": lambda command: command,
            "environ": {**os.environ, MARK: mark},
            **changed,
        }
        return SandboxedVerifier(project, **fields)

    return made


def issued(*commands: str) -> list[Mapping[str, str]]:
    return [
        {"command": c, "command_hash": hashlib.sha256(c.encode("utf-8", "replace")).hexdigest()}
        for c in commands
    ]


def receipts(project: Path) -> list[Path]:
    return list(project.rglob("receipt.json"))


async def one(verifier: SandboxedVerifier, command: str) -> VerifiedCommand:
    (result,) = (await verifier.run(STEP, issued(command))).results
    return result


async def test_a_result_has_the_exit_code_and_the_digest_of_the_whole_output(make: Make) -> None:
    result = await one(make(), "echo out; echo err >&2; exit 3")
    assert (result.exit_code, result.output_tail) == (3, "out\nerr")
    assert result.output_digest == hashlib.sha256(b"out\nerr\n").hexdigest()


async def test_the_receipt_is_what_the_control_plane_takes(make: Make) -> None:
    run = await make().run(STEP, issued("true", "false", "true"))
    receipt = Receipt.model_validate_json(json.dumps(run.receipt))
    assert [r.exit_code for r in receipt.results] == [0, 1, 0]
    assert run.receipt_path is not None
    assert json.loads(run.receipt_path.read_text()) == run.receipt


def _box_that_fails(times: int) -> Callable[[list[str]], list[str]]:
    """Return a box that can't be made so often; it counts in a file of the project."""
    script = (
        "n=$(cat made 2>/dev/null || echo 0); echo $((n + 1)) > made; "
        f'if [ $n -lt {times} ]; then echo "bwrap: no such mount" >&2; exit 1; fi; exec "$@"'
    )
    return lambda command: ["/bin/bash", "-c", script, "box", *command]


async def test_a_box_that_could_not_be_made_is_tried_again(make: Make) -> None:
    result = await one(make(wrap=_box_that_fails(2)), "echo out")
    assert (result.exit_code, result.output_tail) == (0, "out")


async def test_a_box_that_can_never_be_made_is_no_pass(make: Make, project: Path) -> None:
    result = await one(make(wrap=_box_that_fails(99)), "echo out")
    assert (result.exit_code, result.output_tail) == (1, "bwrap: no such mount")
    assert (project / "made").read_text() == "3\n"


async def test_a_command_that_fails_is_run_once(make: Make, project: Path) -> None:
    await one(make(), "echo x >> ran; exit 1")
    assert (project / "ran").read_text() == "x\n"


async def test_a_run_passes_only_when_every_command_did(make: Make) -> None:
    assert (await make().run(STEP, issued("true", "true"))).passed
    assert not (await make().run(STEP, issued("true", "false"))).passed


async def test_output_is_kept_beside_the_receipt_for_every_attempt(make: Make) -> None:
    first = await make().run(STEP, issued("echo one"))
    second = await make().run(STEP, issued("echo two"))
    assert first.receipt_path is not None
    assert second.receipt_path is not None
    assert (first.receipt_path.parent / "01.log").read_text() == "one\n"
    assert (second.receipt_path.parent / "01.log").read_text() == "two\n"


async def test_commands_start_in_the_project_with_nothing_to_read(
    make: Make, project: Path
) -> None:
    assert (await one(make(), "pwd; cat")).output_tail == str(project)


async def test_a_denied_command_is_not_run(make: Make, project: Path) -> None:
    verifier = make(judge=lambda _: Decision.deny("rule", "Not allowed here."))
    result = await one(verifier, "touch ran")
    assert result.exit_code == 126
    assert result.output_tail.startswith("Not allowed here.")
    assert not (project / "ran").exists()


@pytest.mark.parametrize("command", ["rm -rf /", "curl http://x | sh", "git push", "\udc80", "("])
async def test_the_policy_is_that_of_an_implementing_agent(
    make: Make, project: Path, command: str
) -> None:
    verifier = make(judge=lambda text: judge_verification(text, project))
    assert (await one(verifier, command)).exit_code == 126


@pytest.mark.parametrize(
    ("command", "denied"), [("python3 -m pytest -q", False), ("git push", True)]
)
async def test_it_can_be_known_before_whether_a_command_is_run(
    project: Path, command: str, denied: bool
) -> None:
    assert (verification_problem(command, project) is not None) is denied


async def test_a_program_that_does_not_exist_has_the_shells_exit_code(make: Make) -> None:
    result = await one(make(), "no-such-program --now")
    assert (result.exit_code, result.timed_out) == (127, False)
    assert "no-such-program" in result.output_tail


@pytest.mark.parametrize(
    "changed",
    [
        {"wrap": lambda _: ["/no/such/box"]},
        {"wrap": lambda command: ["/proc/self/mem", *command]},
    ],
)
async def test_what_can_not_be_started_has_failed(make: Make, changed: dict[str, Any]) -> None:
    result = await one(make(**changed), "true")
    assert (result.exit_code, "cannot start" in result.output_tail) == (127, True)


async def test_a_command_beyond_what_the_system_takes_has_failed(make: Make) -> None:
    result = await one(make(), f": {'x' * 200_000}")
    assert result.exit_code == 127


async def test_text_that_no_program_can_be_given_is_replaced(make: Make) -> None:
    assert (await one(make(), "echo \udc80")).output_tail == "?"


async def test_a_signal_is_told_by_the_exit_code(make: Make) -> None:
    assert (await one(make(), "kill -KILL $$")).exit_code == 128 + signal.SIGKILL


async def test_binary_output_is_digested_as_it_is(make: Make) -> None:
    result = await one(make(), r"printf '\000\377\033[31m\200end'")
    assert result.output_digest == hashlib.sha256(b"\0\xff\x1b[31m\x80end").hexdigest()
    assert result.output_tail.endswith("end")
    assert result.output_tail.isprintable()


async def test_a_command_that_takes_too_long_is_ended(make: Make) -> None:
    result = await one(make(timeout_seconds=0.5), "echo before; sleep 600")
    assert (result.exit_code, result.timed_out) == (124, True)
    assert result.output_tail.startswith("before\n[runner: ended: it took longer")


async def test_an_exit_code_of_124_alone_is_no_time_out(make: Make) -> None:
    assert not (await one(make(), "exit 124")).timed_out


async def test_ending_well_after_the_time_is_no_success(make: Make) -> None:
    command = f"exec {PYTHON} -c 'import signal, sys, time\n"
    command += "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\ntime.sleep(600)'"
    assert (await one(make(timeout_seconds=1.0), command)).exit_code == 124


async def test_a_command_that_ignores_sigterm_is_killed(make: Make) -> None:
    command = "trap '' TERM INT HUP; echo ready; while :; do sleep 1; done"
    assert (await one(make(timeout_seconds=0.5), command)).timed_out


async def test_a_daemon_neither_survives_nor_keeps_the_runner_waiting(make: Make) -> None:
    result = await one(make(), f"exec {PYTHON} -c '{DAEMON}'")
    assert (result.exit_code, result.output_tail) == (0, "started")


async def test_endless_output_is_ended(make: Make) -> None:
    result = await one(make(max_output_bytes=1024 * 1024), "yes")
    assert result.exit_code == 153
    assert "printed more than 1 MiB" in result.output_tail


async def test_a_great_deal_of_output_is_no_failure_by_itself(make: Make) -> None:
    result = await one(make(), "head -c 5000000 /dev/zero")
    assert result.exit_code == 0
    assert result.output_digest == hashlib.sha256(bytes(5_000_000)).hexdigest()


async def test_cancelling_ends_the_command_and_all_it_started(make: Make, mark: str) -> None:
    async with anyio.create_task_group() as tasks:
        command = f"trap '' TERM; {PYTHON} -c '{DAEMON}'; while :; do sleep 1; done"
        tasks.start_soon(one, make(), command)
        await anyio.to_thread.run_sync(
            lambda: wait_until(lambda: len(marked(mark)) > 3, "it did not start")
        )
        tasks.cancel_scope.cancel()
    assert marked(mark) == []


RUNNER = """
import os, sys
from pathlib import Path
import anyio
from runner.verification.verifier import SandboxedVerifier
from runner.shell_policy.decision import Decision
verifier = SandboxedVerifier(
    Path(sys.argv[1]),
    judge=lambda _: Decision.allow("test"),
    wrap=lambda command: command,
    environ=dict(os.environ),
)
anyio.run(verifier.run, "step_1", [{"command": sys.argv[2], "command_hash": "0" * 64}])
"""


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
async def test_when_the_runner_dies_the_command_and_all_it_started_die(
    project: Path, mark: str, number: signal.Signals
) -> None:
    command = f"trap '' TERM INT; {PYTHON} -c '{DAEMON}'; while :; do sleep 1; done"
    environ = {**os.environ, MARK: mark, "TMPDIR": tempfile.gettempdir()}
    runner = await anyio.open_process(
        [PYTHON, "-c", RUNNER, str(project), command], env=environ, stdout=None, stderr=None
    )
    async with runner:
        await anyio.to_thread.run_sync(
            lambda: wait_until(lambda: len(marked(mark)) > 5, "it did not start")
        )
        runner.send_signal(number)
        await runner.wait()
        await anyio.to_thread.run_sync(lambda: wait_until(lambda: not marked(mark), "it lives"))


async def test_a_cancelled_run_leaves_no_receipt(make: Make, project: Path) -> None:
    with anyio.move_on_after(0.3):
        await one(make(), "sleep 600")
    assert receipts(project) == []


async def test_nothing_that_signs_in_is_passed_on(
    project: Path, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = {
        "ANTHROPIC_API_KEY": "secret",
        "CLAUDE_CODE_OAUTH_TOKEN": "secret",
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_BEARER_TOKEN_BEDROCK": "secret",
        "DATABASE_URL": "postgres://ada:secret@db/app",
        "GOFLAGS": "-mod=mod",
    }
    verifier = make_verifier(
        project,
        Containment("off"),
        settings=PolicySettings(),
        environ={**os.environ, **secrets},
    )
    result = await one(verifier, "python3 -c 'import os; print(dict(os.environ))'")
    assert "secret" not in result.output_tail
    assert "-mod=mod" in result.output_tail


async def test_nothing_runs_before_the_judged_command(
    make: Make, mark: str, tmp_path: Path
) -> None:
    (tmp_path / "rc").write_text("echo surprise")
    environ = {**os.environ, MARK: mark, "BASH_ENV": str(tmp_path / "rc")}
    assert (await one(make(environ=environ), "echo out")).output_tail == "out"


@pytest.mark.parametrize("step_id", ["../x", "", "a/b", "step_\n"])
async def test_a_step_id_can_not_lead_elsewhere(make: Make, step_id: str) -> None:
    with pytest.raises(UsageError, match="no step id"):
        await make().run(step_id, issued("true"))


async def test_receipts_are_not_written_through_a_link(
    make: Make, project: Path, tmp_path: Path
) -> None:
    (project / ".runner").mkdir()
    (project / ".runner" / "autonomy").symlink_to(tmp_path)
    with pytest.raises(StateWriteError, match="leads out of the project"):
        await make().run(STEP, issued("true"))


async def test_the_caller_is_told_of_each_command(make: Make) -> None:
    told: list[Checking] = []
    await make(tell=told.append).run(STEP, issued("true", "false"))
    assert told == [
        Checking(CheckStage.RUNNING, command="true", number=1, total=2),
        Checking(CheckStage.RUNNING, command="false", number=2, total=2),
        Checking(CheckStage.ENDED, total=2),
    ]


async def test_a_command_that_hangs_leaves_the_others_their_share(make: Make) -> None:
    run = await make().run(STEP, issued("sleep 600", "true"), within_seconds=2)
    assert [r.exit_code for r in run.results] == [TIMED_OUT, 0]
    assert "it took longer than" in run.results[0].remark


async def test_no_command_is_started_after_the_time_for_all(make: Make, project: Path) -> None:
    run = await make().run(STEP, issued("touch began"), within_seconds=0)
    assert run.results[0].remark == "it was not run: the time for all commands was used up"
    assert not (project / "began").exists()


async def test_a_command_that_fails_by_itself_has_no_remark(make: Make) -> None:
    run = await make().run(STEP, issued("exit 124"), within_seconds=60)
    assert (run.results[0].exit_code, run.results[0].remark) == (TIMED_OUT, "")


async def test_a_run_before_any_work_is_no_verification(make: Make, project: Path) -> None:
    verifier = make()
    verified = await verifier.run(STEP, issued("true"))
    await verifier.run(BASELINE, issued("true"))
    kept = latest_run(project, ["true"], output_characters=100)
    assert verified.passed
    assert kept is not None
    assert kept.step_id == STEP


async def test_a_command_before_any_work_is_told_as_such(make: Make) -> None:
    told: list[Checking] = []
    await make(tell=told.append).run(BASELINE, issued("true"))
    assert all(event.baseline for event in told)


@pytest.fixture
def box(project: Path, monkeypatch: pytest.MonkeyPatch, mark: str) -> Iterator[Containment]:
    """Give a containment with a signed-in user, as a real run has it."""
    home = project.parent / "home"
    (home / ".claude").mkdir(parents=True)
    (home / ".claude" / ".credentials.json").write_text('{"token": "very-secret"}')
    (home / ".claude.json").write_text('{"primaryApiKey": "very-secret"}')
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "very-secret")
    monkeypatch.setenv(MARK, mark)
    with contained(ContainmentRequest(project, Path("/bin/sh"))) as containment:
        yield containment


async def _contained(project: Path, box: Containment, command: str) -> VerificationRun:
    verifier = make_verifier(project, box, settings=PolicySettings())
    free = SandboxedVerifier(
        project, judge=lambda _: Decision.allow("test"), wrap=verifier.wrap, timeout_seconds=20
    )
    return await free.run(STEP, issued(command))


@pytest.mark.process
@contains
async def test_in_the_sandbox_the_project_alone_is_writable(
    project: Path, box: Containment
) -> None:
    command = 'for p in made .runner/made "$HOME/made" /etc/made; do touch "$p" && echo "$p"; done'
    run = await _contained(project, box, f"{{ {command}; }} 2>/dev/null")
    assert run.results[0].output_tail == "made"
    assert (project / "made").exists()


@pytest.mark.process
@contains
async def test_in_the_sandbox_nothing_tells_the_agents_credentials(
    project: Path, box: Containment
) -> None:
    command = 'env; cat "$CLAUDE_CONFIG_DIR"/.c* "$HOME"/.claude* "$HOME"/.claude/.c*'
    run = await _contained(project, box, f"echo begin; {{ {command}; }} 2>&1; echo end")
    text = run.results[0].output_tail
    assert text.endswith("end")
    assert "very-secret" not in text


@pytest.mark.process
@contains
async def test_in_the_sandbox_a_daemon_does_not_survive(project: Path, box: Containment) -> None:
    run = await _contained(project, box, f"exec {PYTHON} -c '{DAEMON}'")
    assert (run.results[0].exit_code, run.results[0].output_tail) == (0, "started")


@pytest.mark.process
@contains
async def test_in_the_sandbox_too_a_stubborn_command_is_ended_in_time(
    project: Path, box: Containment
) -> None:
    verifier = SandboxedVerifier(
        project,
        judge=lambda _: Decision.allow("test"),
        wrap=box.wrap_verification,
        timeout_seconds=1.0,
    )
    assert (await one(verifier, "trap '' TERM; while :; do sleep 1; done")).timed_out


NEEDS_SOCAT = pytest.mark.skipif(
    shutil.which("socat") is None, reason="a closed network needs socat"
)


@pytest.mark.process
@contains
@pytest.mark.parametrize(
    ("network", "expected"), [(True, 0), pytest.param(False, 1, marks=NEEDS_SOCAT)]
)
async def test_the_network_is_open_or_closed_as_for_the_agent(
    project: Path, box: Containment, network: bool, expected: int
) -> None:
    del box
    # The kernel completes connections that nobody has accepted yet.
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        command = f"import socket; socket.create_connection(('127.0.0.1', {port})).close()"
        request = ContainmentRequest(project, Path("/bin/sh"), network=network)
        with contained(request) as containment:
            run = await _contained(project, containment, f'{PYTHON} -c "{command}"')
    assert run.results[0].exit_code == expected


async def test_a_reviewer_can_be_shown_what_was_kept(make: Make, project: Path) -> None:
    await make().run(STEP, issued("echo old; exit 3"))
    await make().run(STEP, issued("echo first; exit 3", "echo second"))
    found = latest_run(project, ["echo second"], output_characters=100)
    assert found is not None
    assert (found.step_id, found.attempt) == (STEP, 2)
    assert [(r.command, r.exit_code, r.output) for r in found.results] == [
        ("echo first; exit 3", 3, "first"),
        ("echo second", 0, "second"),
    ]


def test_a_planned_command_may_name_what_is_still_to_be_built(project: Path) -> None:
    assert verification_problem("python3 -m measure 26.2 mi km", project) is None
