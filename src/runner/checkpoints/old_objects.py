"""Take a tree over from the project's own objects, where versions before kept checkpoints.

Agents can forge those: git does not check hashes on reading. Each object is checked against the id
that leads to it, the first of which is in the ledger.
"""

from collections.abc import Iterator

from runner.checkpoints.isolated_git import ShadowGit, project_git
from runner.checkpoints.sealing import DamageError, objects

_TREE_MODE = b"40000"
_REF = "refs/heads/taken-over"


def take_over(git: ShadowGit, tree: str) -> str:
    """Write a tree of the project's repository into the runner's store; return its id there.

    Raises:
        DamageError: an object is missing, or is not what its name says.
        GitError: git could not do it.
    """
    with project_git(git.repository) as theirs:
        git.feed(("fast-import", "--quiet", "--force"), _stream(theirs, tree))
    return git.run("rev-parse", "--verify", f"{_REF}^{{tree}}").decode().strip()


def _stream(theirs: ShadowGit, tree: str) -> Iterator[bytes]:
    """Yield what makes `git fast-import` write the tree."""
    files = list(_files(theirs, tree))
    marks = {name: number for number, name in enumerate(dict.fromkeys(f[1] for f in files), 1)}
    for name, content in objects(theirs, marks):
        yield b"blob\nmark :%d\ndata %d\n" % (marks[name], len(content)) + content + b"\n"
    yield b"commit " + _REF.encode("ascii") + b"\ncommitter runner <runner@localhost> 0 +0000\n"
    yield b"data 0\n"
    for mode, name, path in files:
        yield b"M %s :%d %s\n" % (mode, marks[name], _quoted(path))


def _files(theirs: ShadowGit, tree: str) -> Iterator[tuple[bytes, str, bytes]]:
    """Yield mode, id and path of all files, tree by tree."""
    level = {b"": tree}
    while level:
        contents = dict(objects(theirs, level.values()))
        deeper: dict[bytes, str] = {}
        for prefix, name in level.items():
            for mode, entry, child in _entries(contents[name], len(tree) // 2):
                if mode == _TREE_MODE:
                    deeper[prefix + entry + b"/"] = child
                else:
                    yield mode, child, prefix + entry
        level = deeper


def _entries(content: bytes, length: int) -> Iterator[tuple[bytes, bytes, str]]:
    """Yield mode, name and id of a tree's entries. Raises DamageError."""
    at = 0
    while at < len(content):
        end = content.find(b"\0", at)
        mode, blank, name = content[at:end].partition(b" ")
        child = content[end + 1 : end + 1 + length]
        if end < 0 or not blank or b"/" in name or len(child) != length:
            raise DamageError("A kept folder can't be read.")
        yield mode, name, child.hex()
        at = end + 1 + length


def _quoted(path: bytes) -> bytes:
    """Return a path as fast-import reads any path."""
    plain = b"".join(
        bytes([c]) if 0x20 <= c < 0x7F and c not in b'"\\' else b"\\%03o" % c for c in path
    )
    return b'"' + plain + b'"'
