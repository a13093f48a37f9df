"""The checks of `runner doctor`, one function each, and one table of them."""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from runner.agent.claude.credentials import HINT as SIGN_IN_HINT
from runner.agent.claude.credentials import SignIn, find_credentials
from runner.app.job import environment_rules
from runner.app.notify.notifier import targets_of
from runner.app.notify.trial import try_out, unready
from runner.app.verification import IN_PLACE_HINT, place_of_verification
from runner.autonomy.assembly import open_control_plane
from runner.autonomy.store.layout import user_state_directory
from runner.autonomy.store.trust import Trust
from runner.config.feature_flags import resolve_flags
from runner.config.instructions import NAMES
from runner.config.options import RunOptions
from runner.config.project import require_spec
from runner.errors import RunnerError
from runner.installation import isolate
from runner.loop.planning import COVER, idle_commands, uncovered_phases
from runner.programs import find_program
from runner.project import Project
from runner.records.run_lock import current_holder
from runner.records.spending import spec_budget
from runner.sandbox.probe import (
    ContainmentRequest,
    contained,
    is_boxed,
    read_only_cautions,
    switched_off,
)
from runner.sandbox.process import bundled_agent
from runner.sandbox.tokens import HINT as TOKEN_HINT
from runner.sandbox.tokens import configuration_with_token
from runner.shell_policy.policy import judge_command
from runner.text.messages import format_cost, plural
from runner.text.output import Output

_SHOWN_NAMES = 12
_SIGN_IN_STATES = {SignIn.FOUND: "ok", SignIn.POSSIBLE: "warn", SignIn.NONE: "fail"}


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one check found.

    Attributes:
        state: `ok`; `warn` for what a run can do without; `fail` for what would stop it.
        hint: what to do about it.
    """

    name: str
    state: str
    detail: str
    hint: str | None = None


def preflight(project: Project, options: RunOptions) -> Iterator[CheckResult]:
    """Check everything that a run needs, in the order in which it would be missed."""
    for name, check in CHECKS:
        try:
            yield from check(name, project, options)
        except RunnerError as error:
            yield CheckResult(name, "fail", error.message, error.hint)


def _agent(name: str, project: Project, _options: RunOptions) -> Iterator[CheckResult]:
    binary = bundled_agent(project.directory)
    version = binary.with_name("claude.version")
    known = version.read_text(encoding="utf-8").strip() if version.is_file() else ""
    number = known.removesuffix("(Claude Code)").strip() or "version unknown"
    yield CheckResult(name, "ok", f"Claude Code, {number}")


def _credentials(name: str, _project: Project, _options: RunOptions) -> Iterator[CheckResult]:
    found = find_credentials(os.environ)
    hint = None if found.state is SignIn.FOUND else SIGN_IN_HINT
    yield CheckResult(name, _SIGN_IN_STATES[found.state], found.detail, hint)


def _sandbox(name: str, project: Project, options: RunOptions) -> Iterator[CheckResult]:
    agent = bundled_agent(project.directory)
    wanted = options.sandbox and not switched_off(os.environ)
    request = ContainmentRequest(
        project=project.directory,
        agent=agent,
        rules=environment_rules(project),
        wanted=wanted,
        network=options.sandbox_network,
        read_only=isolate(project.directory, boxed=is_boxed(wanted=wanted), used=[agent]),
    )
    with contained(request) as containment:
        for layer in containment.layers:
            state = "ok" if layer.active else "warn"
            yield CheckResult(f"{name}: {layer.name}", state, layer.detail)
        for caution in read_only_cautions(request):
            yield CheckResult(name, "warn", caution.text, caution.hint)
        if not containment.active:
            hint = "Leave out --no-sandbox (and AUTORUNNER_NO_SANDBOX) to contain the agent."
            yield CheckResult(name, "warn", containment.summary, hint)


def _environment(name: str, project: Project, _options: RunOptions) -> Iterator[CheckResult]:
    rules = environment_rules(project)
    agents, commands = rules.of_agents(os.environ), rules.of_commands(os.environ)
    left_out = rules.left_out(os.environ)
    detail = (
        f"{plural(len(agents), 'variable')} for agents, {len(commands)} for verification; "
        f"{len(left_out)} stay outside"
    )
    hint = None
    if left_out:
        shown = ", ".join(left_out[:_SHOWN_NAMES]) + (", …" if len(left_out) > _SHOWN_NAMES else "")
        hint = (
            f"Outside: {shown}. What the project's tests need is handed on by `pass` under "
            "[environment] in .runner/runner.toml."
        )
    yield CheckResult(name, "ok", detail, hint)
    if barred := rules.refused(os.environ):
        hint = "Give tests a credential of their own, under another name."
        yield CheckResult(name, "warn", f"never handed on: {', '.join(barred)}", hint)


def _git(name: str, project: Project, _options: RunOptions) -> Iterator[CheckResult]:
    if find_program("git", project.directory) is None:
        hint = "Install git: agents commit their work, and you can see and undo it."
        yield CheckResult(name, "warn", "not installed", hint)
    elif not (project.directory / ".git").exists():
        hint = "Run `git init` and commit what is there, so that changes can be seen and undone."
        yield CheckResult(name, "warn", "the project is not a git repository", hint)
    else:
        yield CheckResult(name, "ok", "the project is a git repository")
    holder = configuration_with_token(project.directory)
    if holder is not None:
        yield CheckResult(name, "warn", f"{holder} holds a token that agents can read", TOKEN_HINT)


def _spec(name: str, project: Project, _options: RunOptions) -> Iterator[CheckResult]:
    yield CheckResult(name, "ok", str(require_spec(project.directory)))


def _configuration(name: str, project: Project, _options: RunOptions) -> Iterator[CheckResult]:
    _ = project.agent_file
    for instruction in NAMES:
        project.instruction_text(instruction)
    yield CheckResult(name, "ok", "runner.toml, agent.json and instructions can be read")


def _posture(name: str, project: Project, _options: RunOptions) -> Iterator[CheckResult]:
    plane = open_control_plane(
        project.directory,
        file=project.file,
        surface="loop",
        environ=os.environ,
        interactive=Output(sys.stdout).is_terminal(),
    )
    standing, refusal = plane.policy.standing, plane.role_preflight()
    if standing is not None:
        detail = f"{standing.posture} ({standing.posture_origin}), role {standing.role}"
        yield CheckResult(name, "ok", detail)
    for warning in plane.warnings:
        yield CheckResult(name, "warn", warning)
    if refusal is not None:
        yield CheckResult(name, "fail", refusal["error"], refusal["data"]["remediation"])


def _flags(name: str, project: Project, _options: RunOptions) -> Iterator[CheckResult]:
    settings = resolve_flags(project.file.feature_flags, os.environ).settings.items()
    off = [f"{flag} ({one.origin})" for flag, one in settings if not one.value]
    yield CheckResult(name, "ok", f"off: {', '.join(off)}" if off else "all on")


def _policy(name: str, project: Project, _options: RunOptions) -> Iterator[CheckResult]:
    decision = judge_command("ls", project_dir=project.directory)
    state = "ok" if decision.allowed else "fail"
    yield CheckResult(name, state, decision.reason or "the command policy is in force")


def _state(name: str, project: Project, _options: RunOptions) -> Iterator[CheckResult]:
    file = project.plan()
    found = "no deliverables yet" if file is None else plural(file.counts.total, "deliverable")
    yield CheckResult(name, "ok", found)
    for said in idle_commands(file, project.file.verification.commands):
        yield CheckResult(name, "warn", said)
    if (uncovered := uncovered_phases(file, project.file.verification.commands)) is not None:
        yield CheckResult(name, "warn", uncovered, COVER)
    if not os.access(project.directory, os.W_OK):
        hint = "Check the owner and permissions of the project."
        yield CheckResult(name, "fail", "the project can't be written", hint)
    Trust(user_state_directory()).require_usable(project.directory)
    if current_holder(project.directory) is not None:
        hint = "`runner status` says which; wait for it, or stop it."
        yield CheckResult(name, "fail", "a run is at work in the project", hint)


def _verification(name: str, project: Project, _options: RunOptions) -> Iterator[CheckResult]:
    place, clean = place_of_verification(project)
    state, hint = ("ok", None) if clean else ("warn", IN_PLACE_HINT)
    yield CheckResult(name, state, f"commands run {place}", hint)


def _budget(name: str, project: Project, _options: RunOptions) -> Iterator[CheckResult]:
    budget = spec_budget(project.directory, project.file.budget.total)
    if budget is None:
        return
    spent = f"{format_cost(budget.spent_before_usd)} of {format_cost(budget.total_usd)} spent"
    if budget.left_usd(0) > 0:
        yield CheckResult(name, "ok", spent)
    else:
        hint = "Raise `total` under [budget] in .runner/runner.toml."
        yield CheckResult(name, "fail", spent, hint)


def _notifications(name: str, project: Project, _options: RunOptions) -> Iterator[CheckResult]:
    wishes = project.file.notify
    problems = list(unready(wishes, project.directory))
    for title, problem in problems:
        yield CheckResult(
            name, "warn", f"{title}: {problem}", "See [notify] in .runner/runner.toml."
        )
    if (targets := targets_of(wishes, project.directory)) and not problems:
        told = " and ".join(target.title for target in targets)
        yield CheckResult(name, "ok", f"{told}, on {', '.join(wishes.on) or 'nothing'}")


def notification_on_trial(project: Project, event: str) -> Iterator[CheckResult]:
    """Send one notification to all that `[notify]` names, and tell what became of it."""
    name, wishes = "Notification on trial", project.file.notify
    if not targets_of(wishes, project.directory):
        hint = "Name a `command` or a `webhook` under [notify] in .runner/runner.toml."
        yield CheckResult(name, "fail", "there is nobody to tell", hint)
    for title, problem in try_out(wishes, event, project.directory):
        if problem is None:
            yield CheckResult(name, "ok", f"{title} took `{event}`")
        else:
            hint = "See [notify] in .runner/runner.toml."
            yield CheckResult(name, "fail", f"{title}: {problem}", hint)
    if event not in wishes.on:
        hint = f'Add "{event}" to `on` under [notify] in .runner/runner.toml.'
        yield CheckResult(name, "warn", f"a run would not tell `{event}`", hint)


Check = Callable[[str, Project, RunOptions], Iterator[CheckResult]]

CHECKS: tuple[tuple[str, Check], ...] = (
    ("Agent", _agent),
    ("Credentials", _credentials),
    ("Sandbox", _sandbox),
    ("Environment", _environment),
    ("Policy", _policy),
    ("Git", _git),
    ("Spec", _spec),
    ("Configuration", _configuration),
    ("Posture", _posture),
    ("Feature flags", _flags),
    ("State", _state),
    ("Verification", _verification),
    ("Budget", _budget),
    ("Notifications", _notifications),
)
