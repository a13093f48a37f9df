"""`runner sync`."""

import os
from dataclasses import replace

from runner.cli.help_text import help_text
from runner.cli.options import takes
from runner.cli.run import warn_of_unknown_variables
from runner.config.options import SYNC_OPTIONS
from runner.config.project import require_spec
from runner.config.resolve import Chosen
from runner.project import Project

HELP = help_text(
    "Bring status.json in line with SPEC.md, and verify what exists.",
    ("runner sync", "after SPEC.md or the code was changed by hand"),
    ("runner sync -n 5 --commit", "at most five sessions; commit the result"),
    details="Read-only for the project: agents work on a throw-away copy where the system offers "
    "it, and the tree is compared before and after. Only .runner/status.json and the note "
    ".runner-note.md change. Exit code 0 when every deliverable was checked, whatever the result.",
)


@takes(*SYNC_OPTIONS)
def sync(chosen: Chosen) -> None:
    """Run the sync workflow on a project's SPEC.md."""
    require_spec(chosen.project_dir)
    warn_of_unknown_variables()
    from runner.app.replaying import answering  # noqa: PLC0415
    from runner.app.sync import sync as sync_job  # noqa: PLC0415
    from runner.cli.present import finish, present  # noqa: PLC0415
    from runner.sandbox.probe import switched_off  # noqa: PLC0415

    options = replace(chosen.options, sandbox=not switched_off(os.environ))
    project = Project.of(chosen, os.environ)
    with answering(project, options, "Syncing with SPEC.md", command="sync") as job:
        result = present(job, sync_job, options)
    if chosen.options.commit:
        from runner.app.sync_commit import commit_results  # noqa: PLC0415

        commit_results(project.directory)
    finish(job, result)
