"""`runner step`: the hot path, one step after another."""

from runner.cli.control.commands import ControlCommand, control_group
from runner.cli.control.step_text import heartbeat_lines, step_lines
from runner.cli.help_text import help_text

_REPORT_HELP = (
    "A report is a JSON object: step_id, step_type, task_id or phase_id, outcome (success, failure "
    "or skipped), step_proof, and where they apply note, files_touched, verification_receipt, "
    "gate_attempt_id and gate_evidence_token. The identical report, sent again, gets the identical "
    "answer."
)


step = control_group(
    "The step engine: what to do next, and what became of it.",
    ControlCommand(
        "step",
        "next",
        help_text(
            "Report the outstanding step, and get the next one.",
            ("runner step next", "the first, and after a resume"),
            ("runner step next --result @report.json", "each one after that"),
            ("… | runner step next --result -", "from standard input"),
            details=_REPORT_HELP,
        ),
        step_lines,
    ),
    ControlCommand(
        "step",
        "report",
        help_text(
            "Report the outstanding step, and leave the next one to `step next`.",
            ("runner step report --result @report.json", ""),
            details=_REPORT_HELP,
        ),
        step_lines,
    ),
    ControlCommand(
        "step",
        "replay",
        help_text(
            "Show the last answer again, unchanged; the step in it, too.",
            ("runner step replay", "after an answer that got lost"),
        ),
        step_lines,
    ),
    ControlCommand(
        "step",
        "heartbeat",
        help_text(
            "Report that work continues, and how full the agent's context is.",
            ("runner step heartbeat --context-usage-pct 45", ""),
            details="A session whose caller is silent for too long is paused.",
        ),
        heartbeat_lines,
    ),
)
