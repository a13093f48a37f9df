"""What a process does that the MCP server starts for one review by an agent.

It gets a request on standard input and prints one envelope. It shares nothing with the command
line but the entry of the process, which makes sure that no code of the project is loaded.
"""

import os
import sys

from runner.app.exit_codes import FAILURE, SUCCESS
from runner.app.review import answer_request
from runner.autonomy.envelope import Envelope, failure
from runner.autonomy.observability.export import exporting
from runner.autonomy.service import new_ulid
from runner.cli.presenter.base import Presenter
from runner.cli.presenter.factory import make_presenter
from runner.errors import RunnerError
from runner.text.safe import inert, json_text


def answer_standard_input() -> int:
    """Answer the request on standard input; return the exit code."""
    with exporting(os.environ, _warn):
        try:
            envelope = answer_request(sys.stdin.read(), progress)
        except RunnerError as error:
            envelope = failure(error, request_id=new_ulid("req"))
        except Exception as error:
            problem = RunnerError(f"Unexpected {type(error).__name__}.")
            _answer(failure(problem, request_id=new_ulid("req")))
            raise
    _answer(envelope)
    return SUCCESS if envelope["success"] else FAILURE


def _answer(envelope: Envelope) -> None:
    sys.stdout.write(json_text(envelope) + "\n")


def _warn(text: str) -> None:
    sys.stderr.write(f"Warning: {inert(text)}\n")


def progress() -> Presenter:
    """Show the review on standard error: standard output is for the answer."""
    return make_presenter(
        output_format="text",
        quiet=False,
        debug=False,
        stdout=sys.stderr,
        stderr=sys.stderr,
        environ=os.environ,
    )
