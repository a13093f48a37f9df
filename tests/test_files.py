"""Atomic writes and locks: what a reader finds after every way a write can go wrong."""

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

import runner
from runner.errors import LockTimeoutError, StateWriteError
from runner.files import locked, read_regular, sweep_temporary, write_atomic

_SOURCE = str(Path(runner.__file__).parents[1])
_IS_ROOT = os.geteuid() == 0


def _python(code: str, *args: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *args],
        env={**os.environ, "PYTHONPATH": _SOURCE},
        stdout=subprocess.PIPE,
        text=True,
    )


def _names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_new_file_has_the_given_text_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a.json", "ä\r\n")
    assert (tmp_path / "a.json").read_bytes() == "ä\r\n".encode()
    assert _names(tmp_path) == ["a.json"]


def test_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a", b"\x00\xff")
    assert (tmp_path / "a").read_bytes() == b"\x00\xff"


def test_a_disk_that_takes_a_part_at_a_time_gets_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:3]))
    write_atomic(tmp_path / "a", b"0123456789")
    assert (tmp_path / "a").read_bytes() == b"0123456789"


def test_an_existing_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o640)
    write_atomic(path, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)


def test_a_new_file_obeys_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_atomic(tmp_path / "a", "x")
    finally:
        os.umask(old)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_a_given_mode_wins_over_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(0o644)
    write_atomic(path, "new", mode=0o600)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not _IS_ROOT, reason="only root may give files away")
def test_root_leaves_a_file_to_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    os.chown(path, 12345, 12346)
    write_atomic(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 12346)


def test_a_symbolic_link_is_neither_followed_nor_replaced(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("old")
    link = tmp_path / "link"
    link.symlink_to(target)
    with pytest.raises(StateWriteError, match="symbolic link"):
        write_atomic(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "old"


def test_a_folder_in_the_way_is_named_and_kept(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(StateWriteError, match="folder has the file's name"):
        write_atomic(tmp_path / "a", "x")
    assert _names(tmp_path) == ["a"]


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StateWriteError, match="not a regular file"):
        write_atomic(tmp_path / "pipe", "x")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StateWriteError, match="Create the folder first"):
        write_atomic(tmp_path / "no" / "a", "x")


def test_text_that_is_not_unicode_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomic(path, "\ud800")
    assert (path.read_text(), _names(tmp_path)) == ("old", ["a"])


@pytest.mark.process
def test_a_read_only_folder_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    tmp_path.chmod(0o555)
    # Root may write anywhere, so the child gives that up; it can't follow an absolute path then.
    child = _python(
        """
        import os, sys
        from pathlib import Path
        from runner.errors import StateWriteError
        from runner.files import read_regular, write_atomic
        os.chdir(sys.argv[1])
        if os.geteuid() == 0:
            os.setuid(65534)
        try:
            write_atomic(Path("a"), "new")
        except StateWriteError as error:
            print(error)
        """,
        str(tmp_path),
    )
    said, _ = child.communicate(timeout=30)
    tmp_path.chmod(0o755)
    assert "a could not be written: Permission denied. Check the owner and permissions" in said
    assert (path.read_text(), _names(tmp_path)) == ("old", ["a"])


@pytest.mark.process
def test_a_write_that_does_not_fit_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    child = _python(
        """
        import resource, sys
        from pathlib import Path
        from runner.errors import StateWriteError
        from runner.files import read_regular, write_atomic
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            write_atomic(Path(sys.argv[1]), "x" * 100_000)
        except StateWriteError as error:
            print(error)
        """,
        str(path),
    )
    said, _ = child.communicate(timeout=30)
    assert "File too large. Raise the file size limit" in said
    assert (path.read_text(), _names(tmp_path)) == ("old", ["a"])


def test_a_full_disk_leaves_the_old_file_and_says_what_to_do(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if not _IS_ROOT or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount a small file system")
    try:
        path = disk / "a"
        write_atomic(path, "old")
        with pytest.raises(StateWriteError, match="Free some disk space"):
            write_atomic(path, "x" * 200_000)
        assert (path.read_text(), _names(disk)) == ("old", ["a"])
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.process
def test_a_killed_writer_leaves_the_old_content_or_the_new(tmp_path: Path) -> None:
    path = tmp_path / "a"
    allowed = {letter * 50_000 for letter in "ab"}
    write_atomic(path, "a" * 50_000)
    code = """
        import sys
        from pathlib import Path
        from runner.files import read_regular, write_atomic
        print("ready", flush=True)
        while True:
            for letter in "ab":
                write_atomic(Path(sys.argv[1]), letter * 50_000)
        """
    for round_number in range(30):
        with _python(code, str(path)) as child:
            assert child.stdout is not None
            child.stdout.readline()
            threading.Event().wait(0.001 * (round_number % 7))
            child.kill()
        assert path.read_text() in allowed
    for leftover in tmp_path.iterdir():
        os.utime(leftover, (0, 0))
    sweep_temporary(tmp_path, 3600)
    assert _names(tmp_path) == ["a"]


def test_sweeping_takes_old_leftovers_only(tmp_path: Path) -> None:
    old = tmp_path / ".status.json.0123456789abcdef.tmp"
    young = tmp_path / ".status.json.fedcba9876543210.tmp"
    foreign = tmp_path / ".vim.tmp"
    for path in (old, young, foreign):
        path.write_text("")
    os.utime(old, (0, 0))
    os.utime(foreign, (0, 0))
    assert sweep_temporary(tmp_path, 3600) == 1
    assert _names(tmp_path) == [young.name, foreign.name]


def test_sweeping_leaves_links_and_folders(tmp_path: Path) -> None:
    (tmp_path / ".a.0123456789abcdef.tmp").mkdir()
    (tmp_path / ".b.0123456789abcdef.tmp").symlink_to("nowhere")
    assert sweep_temporary(tmp_path, -1e9) == 0


def test_sweeping_a_missing_folder_is_no_error(tmp_path: Path) -> None:
    assert sweep_temporary(tmp_path / "no", 0) == 0


def test_a_lock_creates_its_folder_and_can_be_taken_again(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.lock"
    with locked(path):
        pass
    with locked(path):
        assert path.exists()


def test_a_lock_excludes_other_threads(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    outcome: list[str] = []

    def compete() -> None:
        try:
            with locked(path, timeout=0.05):
                outcome.append("taken")
        except LockTimeoutError as error:
            outcome.append(str(error))

    with locked(path):
        thread = threading.Thread(target=compete)
        thread.start()
        thread.join()
    assert len(outcome) == 1
    assert str(path) in outcome[0]


@pytest.mark.process
def test_a_lock_is_free_when_its_holder_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    code = """
        import sys, time
        from pathlib import Path
        from runner.files import read_regular, locked
        with locked(Path(sys.argv[1])):
            print("held", flush=True)
            time.sleep(60)
        """
    with _python(code, str(path)) as child:
        assert child.stdout is not None
        child.stdout.readline()
        with pytest.raises(LockTimeoutError), locked(path, timeout=0.05):
            pass
        child.kill()
        child.wait()
        with locked(path, timeout=5):
            pass


def test_a_lock_is_released_when_its_body_fails(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with pytest.raises(ZeroDivisionError), locked(path):
        raise ZeroDivisionError
    with locked(path, timeout=0.05):
        pass


def test_a_lock_that_can_not_be_created_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StateWriteError, match="move it away"), locked(tmp_path / "file" / "lock"):
        pass


def test_a_regular_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abcdef")
    assert read_regular(tmp_path / "f", limit=3) == b"abc"


def test_a_link_out_of_the_folder_is_not_read(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "f"
    outside.write_bytes(b"secret")
    (tmp_path / "link").symlink_to(outside)
    with pytest.raises(PermissionError, match="leads out"):
        read_regular(tmp_path / "link", limit=10, within=tmp_path)


def test_a_link_to_itself_is_an_error_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        read_regular(tmp_path / "loop", limit=10, within=tmp_path)


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="regular"):
        read_regular(tmp_path / "pipe", limit=10)


def test_a_lock_whose_file_was_removed_meanwhile_is_taken_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with locked(path):
        path.unlink()
        with locked(path, timeout=0.05):
            assert path.exists()


def test_a_lock_excludes_users_of_the_filelock_library(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    other = FileLock(path)
    with locked(path), pytest.raises(Timeout):
        other.acquire(timeout=0)
    with other, pytest.raises(LockTimeoutError), locked(path, timeout=0):
        pass


def test_a_link_in_a_locks_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateWriteError), locked(tmp_path / "a.lock"):
        pass
    assert not (tmp_path / "elsewhere").exists()
