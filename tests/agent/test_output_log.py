"""What is kept of a command's output."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.credentials import Redactor
from runner.errors import StateWriteError
from runner.verification.output_log import HEAD_BYTES, TAIL_BYTES, OutputLog

Redact = Callable[[str], str]
SECRET = "correct-horse-0123456789"


def _kept(
    path: Path, chunks: list[bytes], remark: str | None = None, redact: Redact = str
) -> tuple[OutputLog, bytes]:
    with OutputLog(path, redact) as log:
        for chunk in chunks:
            log.add(chunk)
        log.close(remark)
    return log, path.read_bytes()


@given(st.lists(st.binary(max_size=50)))
def test_short_output_is_kept_and_digested_whole(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("log") / "x"
    log, kept = _kept(path, chunks)
    assert kept == b"".join(chunks)
    assert log.digest == hashlib.sha256(kept).hexdigest()


def test_of_long_output_beginning_and_end_are_kept(tmp_path: Path) -> None:
    whole = os.urandom(HEAD_BYTES + TAIL_BYTES + 70_000)
    chunks = [whole[i : i + 60_000] for i in range(0, len(whole), 60_000)]
    log, kept = _kept(tmp_path / "x", chunks)
    middle = b"\n[runner: 70000 bytes are left out here]\n"
    assert kept == whole[:HEAD_BYTES] + middle + whole[-TAIL_BYTES:]
    assert log.digest == hashlib.sha256(whole).hexdigest()


def test_output_that_just_fits_is_kept_whole(tmp_path: Path) -> None:
    whole = os.urandom(HEAD_BYTES + TAIL_BYTES)
    assert _kept(tmp_path / "x", [whole])[1] == whole


def test_a_remark_is_no_part_of_the_digest(tmp_path: Path) -> None:
    log, kept = _kept(tmp_path / "x", [b"out"], "ended")
    assert kept == b"out\n[runner: ended]\n"
    assert log.digest == hashlib.sha256(b"out").hexdigest()


def test_the_tail_is_the_end_of_the_output_and_the_remark(tmp_path: Path) -> None:
    log, _ = _kept(tmp_path / "x", [b"x" * 100_000, b"\nlast\n"])
    text = log.tail_text("ended")
    assert text.endswith("xxx\nlast\n[runner: ended]")
    assert len(text) < 9000


def test_nothing_is_written_over_an_existing_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("old")
    with pytest.raises(StateWriteError):
        OutputLog(tmp_path / "x", str)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_a_state_write_error(tmp_path: Path) -> None:
    with OutputLog(tmp_path / "x", str) as log:
        os.dup2(os.open("/dev/full", os.O_WRONLY), log._file.fileno())
        with pytest.raises(StateWriteError, match="No space left"):
            log.add(b"x\n")


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_a_credential_is_not_kept_however_the_output_is_cut(tmp_path: Path, size: int) -> None:
    whole = b"before\n" + b"key: " + SECRET.encode() + b"\nafter"
    chunks = [whole[i : i + size] for i in range(0, len(whole), size)]
    log, kept = _kept(tmp_path / "x", chunks, redact=Redactor({"A_TOKEN": SECRET}).text)
    assert kept == b"before\nkey: [redacted: A_TOKEN]\nafter"
    assert log.tail_text() == kept.decode()


def test_a_credential_at_either_side_of_what_is_left_out_is_not_kept(tmp_path: Path) -> None:
    line = f"{SECRET}\n".encode()
    whole = line * (3 * (HEAD_BYTES + TAIL_BYTES) // len(line))
    _, kept = _kept(tmp_path / "x", [whole], redact=Redactor({"A_TOKEN": SECRET}).text)
    assert SECRET[:12].encode() not in kept
    assert b"are left out here" in kept


def test_the_digest_is_that_of_the_output_itself(tmp_path: Path) -> None:
    log, _ = _kept(tmp_path / "x", [SECRET.encode()], redact=Redactor({"A_TOKEN": SECRET}).text)
    assert log.digest == hashlib.sha256(SECRET.encode()).hexdigest()
