"""Write files so that a reader finds the old content or the new, and lock them.

A write goes to a temporary file in the same folder, is flushed to the disk, and takes the
target's name in one step (DESIGN §6). Whoever is killed on the way leaves the target as it
was, and at most a leftover called `.<name>.<16 hex digits>.tmp` for `sweep_temporary`.
"""

import contextlib
import errno
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.errors import LockTimeoutError, StateWriteError

if sys.platform != "win32":
    import fcntl

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}\.tmp")
_READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FILE_MODE = 0o666  # the umask takes its share
_NEW_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_LOCK_POLL_SECONDS = 0.02
_NO_LOCKS = frozenset({errno.ENOSYS, errno.ENOTSUP})  # file systems without locks of this kind
# Some file systems can't sync a folder; their rename is as durable as it will ever be.
_NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES})
_HINTS = {
    errno.ENOSPC: "Free some disk space, then try again.",
    errno.EDQUOT: "Free some of your disk quota, then try again.",
    errno.EFBIG: "Raise the file size limit (ulimit -f), then try again.",
    errno.EROFS: "The file system is mounted read-only: work on a copy that can be written.",
    errno.EACCES: "Check the owner and permissions of the file and its folder.",
    errno.EPERM: "Check the owner and permissions of the file and its folder.",
    errno.EISDIR: "A folder has the file's name: move it away.",
    errno.EEXIST: "A file stands where a folder is needed: move it away.",
    errno.ENOTDIR: "A file stands where a folder is needed: move it away.",
    errno.ENOENT: "Create the folder first.",
}


def write_error(path: Path, cause: OSError) -> StateWriteError:
    """Return the error that says why `path` could not be written, and what to do about it."""
    reason = cause.strerror or str(cause)
    hint = _HINTS.get(cause.errno or 0, "Check the disk and the folder, then try again.")
    return StateWriteError(f"{path} could not be written: {reason}.", hint=hint)


def write_atomic(path: Path, data: str | bytes, *, mode: int | None = None) -> None:
    """Replace the content of `path`, or create it, in one step that survives a crash.

    An existing file keeps its permissions, and its owner where we may set it. A target that
    is a symbolic link (or a pipe or device) is refused: to replace the link would cut it
    silently, and to write through it would let a repository choose which file we overwrite.

    Args:
        path: the target; its folder must exist.
        data: text is written as UTF-8, line ends as they are.
        mode: permission bits to set; None keeps the old file's, or applies the umask.

    Raises:
        StateWriteError: nothing was written, and what was there before still stands.
    """
    content = data.encode("utf-8") if isinstance(data, str) else data
    folder = path.parent
    temporary = f"{folder}{os.sep}.{path.name}.{os.urandom(8).hex()}.tmp"
    try:
        old = _regular_file(path)
        try:
            _write_new(temporary, content, old, mode)
            os.replace(temporary, path)  # noqa: PTH105 - the path is a string here
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108 - the path is a string here
            raise
        _sync_folder(folder)
    except OSError as error:
        raise write_error(path, error) from error


def read_regular(path: Path, *, limit: int, within: Path | None = None) -> bytes:
    """Return the content of a regular file, without ever waiting for a pipe.

    Args:
        limit: bytes that are read at most.
        within: a folder that the file has to be in once all links are followed, so that a
            link in an untrusted project can't choose what of this machine is read.

    Raises:
        OSError: it can't be read, is no regular file, or leads out of `within`.
    """
    real = path
    if within is not None:
        try:
            real = path.resolve(strict=True)
        except RuntimeError as error:  # what pathlib makes of a link that leads to itself
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from error
        if not real.is_relative_to(within.resolve()):
            raise PermissionError(errno.EACCES, f"it leads out of {within}", str(path))
    descriptor = os.open(real, _READ_FLAGS | (os.O_NOFOLLOW if within is not None else 0))
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        return file.read(limit)


def sweep_temporary(directory: Path, older_than_seconds: float) -> int:
    """Remove what killed writers left in `directory`; return how many files that were.

    Only regular files with a name that `write_atomic` gives are touched. Young ones may
    belong to a writer at work, so `older_than_seconds` should exceed any honest write.
    Problems are not errors: a leftover harms nobody.
    """
    limit = time.time() - older_than_seconds
    removed = 0
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if _TEMPORARY.fullmatch(entry.name) and _unlink_if_older(entry, limit):
                removed += 1
    return removed


@contextmanager
def locked(path: Path, timeout: float = 5.0) -> Iterator[None]:
    """Hold the lock file `path`, against other processes and other threads of this one.

    The operating system lets go of the lock when its holder dies. The file and its folder
    are created on demand, and the file stays: it is the lock's name, not its state.

    Args:
        path: the lock file, e.g. `.runner/autonomy/locks/status.lock`.
        timeout: seconds to wait for another holder.

    Raises:
        LockTimeoutError: another holder kept it for longer than `timeout`.
        StateWriteError: the lock file can't be created.
    """
    try:
        try:
            release = _acquire(path, timeout)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            release = _acquire(path, timeout)
    except TimeoutError as error:
        raise LockTimeoutError(
            f"Another process has held {path} for more than {timeout:g} seconds.",
            hint="Wait until it is done, or see who it is: fuser -v on that file. "
            "The lock ends with its process; deleting the file doesn't free it.",
        ) from error
    except OSError as error:
        raise write_error(path, error) from error
    try:
        yield
    finally:
        release()


def _acquire(path: Path, timeout: float) -> Callable[[], None]:
    """Take the lock and return what lets go of it. Raises TimeoutError or OSError.

    The lock is the one that filelock takes on such a system, taken directly: a tenth of the
    cost on every step, and nothing to import.
    """
    if sys.platform == "win32":
        return _acquire_portably(path, timeout)
    deadline = time.monotonic() + timeout
    while True:
        descriptor = os.open(path, _LOCK_FLAGS, 0o644)
        try:
            if _try_lock(descriptor):
                return lambda: os.close(descriptor)
        except OSError as error:
            os.close(descriptor)
            if error.errno in _NO_LOCKS:
                return _acquire_portably(path, timeout)
            raise
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        if time.monotonic() >= deadline:
            raise TimeoutError
        time.sleep(_LOCK_POLL_SECONDS)


def _try_lock(descriptor: int) -> bool:
    """Lock an open file; False when somebody holds it, or has just removed it from its folder."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return os.fstat(descriptor).st_nlink > 0


def _acquire_portably(path: Path, timeout: float) -> Callable[[], None]:
    from filelock import FileLock, Timeout  # noqa: PLC0415 - costs 60 ms; rarely needed

    lock = FileLock(path)
    try:
        lock.acquire(timeout=timeout, poll_interval=_LOCK_POLL_SECONDS)
    except Timeout as error:
        raise TimeoutError from error
    return lock.release


def _regular_file(path: Path) -> os.stat_result | None:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISREG(found.st_mode):
        return found
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    kind = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "not a regular file"
    raise StateWriteError(
        f"{path} is {kind}, and runner does not write through it.",
        hint="Replace it by a regular file.",
    )


def _write_new(
    temporary: str, content: bytes, old: os.stat_result | None, mode: int | None
) -> None:
    descriptor = os.open(temporary, _NEW_FILE_FLAGS, _NEW_FILE_MODE)
    try:
        if old is not None:
            _keep_owner(descriptor, old)
        if mode is None and old is not None:
            mode = stat.S_IMODE(old.st_mode)
        if mode is not None:
            os.fchmod(descriptor, mode)
        written = os.write(descriptor, content)
        while written < len(content):  # a disk that is nearly full takes a part first
            written += os.write(descriptor, memoryview(content)[written:])
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _keep_owner(descriptor: int, old: os.stat_result) -> None:
    """Leave the owner alone when a container's root rewrites a user's file."""
    if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, old.st_uid, old.st_gid)


def _sync_folder(folder: Path) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise


def walk_folders(root: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each folder from `root` on with the names of its folders and of its other entries.

    Like `os.walk`, which before Python 3.12 fails where agents have made folders a thousand deep.
    """
    pending = [os.fspath(root)]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        except OSError:
            continue
        folders = [name for name, is_folder in found if is_folder]
        yield folder, folders, [name for name, is_folder in found if not is_folder]
        pending += [os.path.join(folder, name) for name in folders]  # noqa: PTH118 - a str


def _unlink_if_older(entry: os.DirEntry[str], limit: float) -> bool:
    with contextlib.suppress(OSError):
        found = entry.stat(follow_symlinks=False)
        if stat.S_ISREG(found.st_mode) and found.st_mtime < limit:
            Path(entry.path).unlink()
            return True
    return False
