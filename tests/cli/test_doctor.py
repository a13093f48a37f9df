"""`runner doctor`."""

import json
from pathlib import Path

import pytest

from runner.cli.app import invoke
from runner.cli.main import run_command_line
from runner.records.spending import Spend, SpendBook


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-secret-canary")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AUTORUNNER_NO_SANDBOX", "1")
    project = tmp_path / "project"
    project.mkdir()
    (project / "SPEC.md").write_text("# thing\n", encoding="utf-8")
    return project


def doctor(project: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, str], str]:
    """Return exit code, states by name, and everything that was printed."""
    code = invoke(["doctor", "--json", "-p", str(project)])
    output = capsys.readouterr()
    findings = json.loads(output.out)["findings"]
    return code, {f["name"]: f["state"] for f in findings}, output.out + output.err


def test_where_a_run_can_start_it_exits_with_0(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert doctor(project, capsys)[0] == 0


def test_a_credential_is_never_shown(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "canary" not in doctor(project, capsys)[2]


def test_no_credential_is_a_failure(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    code, states, _ = doctor(project, capsys)
    assert (code, states["Credentials"]) == (1, "fail")


def test_a_token_in_the_repository_is_warned_of_and_not_shown(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / ".git").mkdir()
    header = '[http "https://github.com/"]\n\textraheader = AUTHORIZATION: basic canary\n'
    (project / ".git/config").write_text(header, encoding="utf-8")
    code, states, said = doctor(project, capsys)
    assert (code, states["Git"]) == (0, "warn")
    assert "canary" not in said


def test_a_missing_spec_is_a_failure(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "SPEC.md").unlink()
    code, states, _ = doctor(project, capsys)
    assert (code, states["Spec"]) == (1, "fail")


def test_a_damaged_status_file_is_a_failure(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / ".runner").mkdir()
    (project / ".runner" / "status.json").write_text("{", encoding="utf-8")
    code, states, _ = doctor(project, capsys)
    assert (code, states["State"]) == (1, "fail")


def test_a_wrong_agent_json_is_a_failure(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / ".runner").mkdir()
    (project / ".runner" / "agent.json").write_text('{"profil": "node"}', encoding="utf-8")
    code, states, _ = doctor(project, capsys)
    assert (code, states["Configuration"]) == (1, "fail")


def test_a_sandbox_that_is_switched_off_is_a_warning(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert doctor(project, capsys)[1]["Sandbox"] == "warn"


def test_text_ends_with_the_verdict(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    invoke(["doctor", "-p", str(project)])
    assert capsys.readouterr().out.splitlines()[-1] == "A run can start."


def test_the_posture_and_its_dangers_are_shown(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTORUNNER_POSTURE", "unattended")
    monkeypatch.setenv("AUTORUNNER_ROLE", "maintainer")
    code, states, output = doctor(project, capsys)
    assert (code, states["Posture"]) == (0, "warn")
    assert "unattended (AUTORUNNER_POSTURE), role maintainer" in output


def test_a_posture_that_does_not_exist_is_a_configuration_error(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTORUNNER_POSTURE", "superwised")
    assert run_command_line(["doctor", "-p", str(project)]) == 2
    assert "AUTORUNNER_POSTURE must be one of unattended, supervised" in capsys.readouterr().err


def test_flags_that_are_off_are_shown(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTORUNNER_FEATURE_AUTONOMY_REBASE", "off")
    code, states, output = doctor(project, capsys)
    assert (code, states["Feature flags"]) == (0, "ok")
    assert "autonomy_rebase (AUTORUNNER_FEATURE_AUTONOMY_REBASE)" in output


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("AUTORUNNER_ROLE", "observer", "The role observer may not: session start."),
        ("AUTORUNNER_FEATURE_AUTONOMY_SESSIONS", "off", "autonomy_sessions is off"),
    ],
)
def test_a_role_or_flag_that_stops_every_run_is_a_failure(
    *,
    variable: str,
    value: str,
    said: str,
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(variable, value)
    code, states, output = doctor(project, capsys)
    assert (code, states["Posture"]) == (1, "fail")
    assert said in output


@pytest.mark.parametrize(("spent", "verdict"), [(4.0, (0, "ok")), (5.0, (1, "fail"))])
def test_a_spent_budget_is_a_failure(
    project: Path, capsys: pytest.CaptureFixture[str], spent: float, verdict: tuple[int, str]
) -> None:
    SpendBook(project).save(Spend(spent, 1))
    (project / ".runner" / "runner.toml").write_text("[budget]\ntotal = 5\n", encoding="utf-8")
    code, states, _ = doctor(project, capsys)
    assert (code, states["Budget"]) == verdict


def test_a_damaged_account_is_a_failure(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    SpendBook(project).save(Spend(1.0, 1))
    SpendBook(project).path.write_text("{", encoding="utf-8")
    code, states, _ = doctor(project, capsys)
    assert (code, states["Budget"]) == (1, "fail")


@pytest.mark.parametrize("name", ["review", "remediate"])
def test_an_override_that_can_not_be_read_is_a_failure(
    name: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = project / ".runner"
    state.mkdir(exist_ok=True)
    (state / f"{name}.md").write_bytes(b"\xff\xfe")
    assert doctor(project, capsys)[1]["Configuration"] == "fail"


def test_a_tiny_budget_is_told_with_the_digits_that_it_has(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    SpendBook(project).save(Spend(0.0004, 1))
    (project / ".runner" / "runner.toml").write_text("[budget]\ntotal = 0.005\n", encoding="utf-8")
    assert "$0.0004 of $0.0050 spent" in doctor(project, capsys)[2]


def test_a_narrow_terminal_breaks_a_finding_at_words(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.text.output.Output.is_terminal", lambda _: True)
    monkeypatch.setattr("runner.text.output.Output.columns", lambda _: 60)
    invoke(["doctor", "-p", str(project)])
    assert (
        "      Run `git init` and commit what is there, so that\n"
        "      changes can be seen and undone.\n"
    ) in capsys.readouterr().out


def notify(project: Path, text: str) -> None:
    (project / ".runner").mkdir(exist_ok=True)
    (project / ".runner" / "runner.toml").write_text(f"[notify]\n{text}\n", encoding="utf-8")


def test_a_notification_that_could_not_arrive_is_a_warning(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notify(project, 'webhook = "$NO_SUCH_VARIABLE"')
    code, states, output = doctor(project, capsys)
    assert (code, states["Notifications"]) == (0, "warn")
    assert "the variable NO_SUCH_VARIABLE holds no http address" in output


def test_whom_a_run_would_tell_is_shown(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notify(project, 'command = ["sh", "-c", "exit 1"]\non = ["paused"]')
    _, states, output = doctor(project, capsys)
    assert states["Notifications"] == "ok"
    assert "the command sh, on paused" in output


def on_trial(project: Path, event: str) -> int:
    return invoke(["doctor", "-p", str(project), "--notify", event])


def test_a_notification_on_trial_is_sent(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = project / "out"
    notify(project, f"""command = ["sh", "-c", "cat > {out}"]""")
    assert on_trial(project, "paused") == 0
    assert json.loads(out.read_text(encoding="utf-8"))["exit_reason"] == "paused"
    assert "the command sh took `paused`" in capsys.readouterr().out


@pytest.mark.parametrize("wishes", ["", 'command = ["sh", "-c", "exit 3"]'])
def test_a_trial_that_nobody_hears_of_is_a_failure_of_its_own(
    wishes: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notify(project, wishes)
    assert on_trial(project, "finished") == 1
    assert capsys.readouterr().out.splitlines()[-1] == "A run can start."


def test_an_event_that_a_run_would_not_tell_is_said(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notify(project, 'command = ["true"]')
    assert on_trial(project, "stopped") == 0
    assert "a run would not tell `stopped`" in capsys.readouterr().out


def test_an_event_that_does_not_exist_is_wrong_usage(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["doctor", "-p", str(project), "--notify", "stoped"]) == 2
    assert "Did you mean stopped?" in capsys.readouterr().err


@pytest.mark.parametrize("variable", ["HOME", "XDG_STATE_HOME", "AUTORUNNER_STATE_DIR"])
@pytest.mark.parametrize("command", ["doctor", "run", "sync"])
def test_a_state_folder_that_can_not_be_made_is_found_before_a_session(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variable: str,
    command: str,
) -> None:
    monkeypatch.setenv(variable, "/proc/nowhere")
    code = run_command_line([command, "-p", str(project)])
    output = capsys.readouterr()
    assert code in (1, 2)
    assert "AUTORUNNER_STATE_DIR" in output.out + output.err
    assert not (project / ".runner" / "status.json").exists()


def test_a_state_folder_inside_the_project_is_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AUTORUNNER_STATE_DIR", str(project / "state"))
    assert doctor(project, capsys)[1]["State"] == "fail"
