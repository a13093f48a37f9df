"""Choose the presenter of a run."""

from collections.abc import Mapping
from types import TracebackType
from typing import Literal, Self, TextIO

from runner.app.notify.github import GithubReporter
from runner.cli.presenter.base import Presenter
from runner.cli.presenter.json_output import JsonPresenter
from runner.cli.presenter.plain import Paint, PlainPresenter
from runner.cli.presenter.wrapping import rows
from runner.events import Notice, RunEvent
from runner.text.messages import reason
from runner.text.output import Output

OutputFormat = Literal["text", "json", "stream-json"]


def make_presenter(
    *,
    output_format: OutputFormat,
    quiet: bool,
    debug: bool,
    stdout: TextIO | None,
    stderr: TextIO | None,
    environ: Mapping[str, str],
) -> Presenter:
    """Return the presenter for a run (CONTRACT §3).

    Args:
        output_format: in the JSON formats `stdout` carries JSON alone.
        quiet: for people, only the final lines and errors.
        debug: for people, every event of the agent with its content.
        stdout: None when the program was started with it closed.
        stderr: likewise.
        environ: NO_COLOR, FORCE_COLOR and TERM decide the looks; GITHUB_STEP_SUMMARY and
            GITHUB_OUTPUT name files that get the result; with GITHUB_ACTIONS=true annotations
            go to `stderr`.
    """
    out, err = Output(stdout), Output(stderr)
    presenter: Presenter
    if output_format == "text":
        presenter = _for_people(out, err, environ, quiet=quiet, debug=debug, live=True)
    else:
        # JSON lines and a transient line on the same terminal would run into each other.
        live = output_format == "json" or not out.is_terminal()
        people = _for_people(err, err, environ, quiet=quiet, debug=debug, live=live)
        presenter = JsonPresenter(people, out, stream=output_format == "stream-json")
    reporter = GithubReporter(environ, err.write)
    return _WithReport(presenter, reporter) if reporter.wanted else presenter


def wants_colour(output: Output, environ: Mapping[str, str]) -> bool:
    """Whether `output` may get control characters.

    NO_COLOR beats FORCE_COLOR, which beats a pipe and a dumb terminal.
    """
    if environ.get("NO_COLOR"):
        return False
    return _is_forced(environ) or _is_capable(output, environ)


def _is_capable(output: Output, environ: Mapping[str, str]) -> bool:
    return output.is_terminal() and environ.get("TERM", "") not in ("", "dumb")


def _is_forced(environ: Mapping[str, str]) -> bool:
    return environ.get("FORCE_COLOR", "0").lower() not in ("", "0", "false")


def _for_people(
    out: Output, err: Output, environ: Mapping[str, str], *, quiet: bool, debug: bool, live: bool
) -> Presenter:
    """The presenter of lines; `live` allows the activity line where the terminal can show it."""
    live = live and not quiet and not debug
    if live and _is_capable(out, environ) and wants_colour(out, environ):
        from runner.cli.presenter.terminal import TerminalPresenter  # noqa: PLC0415

        return TerminalPresenter(out, err, environ)
    return PlainPresenter(
        out,
        err,
        paint=_paint(out, environ),
        paint_err=_paint(err, environ),
        quiet=quiet,
        debug=debug,
    )


def _paint(output: Output, environ: Mapping[str, str]) -> Paint:
    if not wants_colour(output, environ):
        return lambda line: "\n".join(row.text for row in rows(line, output))
    from runner.cli.presenter.terminal import Painter  # noqa: PLC0415

    return Painter(output, environ, forced=_is_forced(environ)).line


class _WithReport:
    """A presenter beside the files for GitHub Actions."""

    def __init__(self, presenter: Presenter, reporter: GithubReporter) -> None:
        self._presenter = presenter
        self._reporter = reporter

    @property
    def lost(self) -> OSError | None:
        return self._presenter.lost

    def __call__(self, event: RunEvent) -> None:
        try:
            self._reporter(event)
        except OSError as error:
            # Told before the last event, after which nothing follows.
            message = f"The report for GitHub Actions could not be written: {reason(error)}."
            self._presenter(Notice("warning", message))
        self._presenter(event)

    def __enter__(self) -> Self:
        self._presenter.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        self._presenter.__exit__(kind, error, traceback)
