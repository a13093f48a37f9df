import http.client
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runner.replay.__main__ import main

SCRIPT = '[[session]]\nfallback = true\n[[session.turn]]\ntext = "{{project}}"\n'
BODY = b'{"messages": [{"role": "user", "content": "Hi"}], "tools": [{"name": "A"}]}'


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "s.toml"
    path.write_text(SCRIPT)
    return path


@contextmanager
def _serving(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "runner.replay", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _ask(url: str) -> bytes:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    try:
        connection.request("POST", "/v1/messages", BODY)
        return connection.getresponse().read()
    finally:
        connection.close()


@pytest.mark.process
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_where_it_serves_until_it_is_interrupted(
    script: Path, ending: signal.Signals
) -> None:
    with _serving(str(script), "--project", "/somewhere") as process:
        assert process.stdout is not None
        assert b'"text": "/somewhere"' in _ask(process.stdout.readline().strip())
        process.send_signal(ending)
        rest = process.communicate(timeout=10)
    assert (process.returncode, rest) == (0, ("", ""))


@pytest.mark.process
def test_where_the_conversation_left_the_script_is_told_at_the_end(script: Path) -> None:
    script.write_text(SCRIPT.replace("project", "task"))
    with _serving(str(script)) as process:
        assert process.stdout is not None
        _ask(process.stdout.readline().strip())
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=10)
    assert process.returncode == 1
    assert told == (
        "Turn 1 of a request without a marker: Nothing is known to put in place of {{task}}.\n"
    )


def test_a_wrong_script_is_a_usage_error(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text("[[session]]\n")
    assert main([str(script)]) == 2
    assert capsys.readouterr().err.startswith("Error: ")
