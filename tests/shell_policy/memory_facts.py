"""Facts about a project that exists nowhere: what the tests of the policy are judged by."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field

from runner.shell_policy.git_facts import Guarded
from runner.shell_policy.project_facts import FolderEntry

_MAX_LINKS = 40


@dataclass(frozen=True)
class MemoryFacts:
    """A project in memory. All paths are absolute; implements `ProjectFacts`.

    Attributes:
        project: where the project is.
        home: the user's home folder.
        files: the text of each file; folders are what their paths name.
        links: what each symbolic link leads to, as a path that is absolute.
        foreign: files of other users outside of the project.
        option_like_refs: whether a tag of the repository begins with a dash.
        guarded: the protected files that git holds, by revision or `index`; others have none.
        unchanged: whether the protected files on disk are those of HEAD and the index.
        stashed: whether a stash holds protected files.
    """

    project: str = "/workspace/project"
    home: str = "/home/somebody"
    files: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    foreign: frozenset[str] = frozenset()
    option_like_refs: bool = False
    guarded: Mapping[str, Guarded | None] = field(default_factory=dict)
    unchanged: bool = True
    stashed: bool = False

    def real_path(self, path: str) -> str:
        real, rest, links = "/", path.split("/"), 0
        while rest:
            part = rest.pop(0)
            if part in ("", "."):
                continue
            real = posixpath.normpath(posixpath.join(real, part))
            target = self.links.get(real)
            if target is not None and links < _MAX_LINKS:
                links += 1
                real, rest = "/", [*target.split("/"), *rest]
        return real

    def exists(self, path: str) -> bool:
        real = self.real_path(path)
        names = (*self.files, *self.links)
        return path in names or any(f"{one}/".startswith(f"{real}/") for one in names)

    def entries(self, folder: str) -> tuple[FolderEntry, ...]:
        real = self.real_path(folder)
        if not f"{real}/".startswith(f"{self.project}/"):
            return ()
        found: dict[str, FolderEntry] = {}
        for path in (*self.files, *self.links):
            name, slash, _ = path.removeprefix(f"{real}/").partition("/")
            if path.startswith(f"{real}/") and name:
                is_link = f"{real}/{name}" in self.links
                found[name] = FolderEntry(name, is_link, is_folder=bool(slash) or is_link)
        return tuple(found.values())

    def text(self, path: str) -> str | None:
        return self.files.get(self.real_path(path))

    def is_foreign(self, path: str) -> bool:
        return path in self.foreign

    def has_foreign_module(self, folder: str, names: frozenset[str]) -> bool:
        return any(
            posixpath.dirname(one) == folder and posixpath.basename(one).partition(".")[0] in names
            for one in self.foreign
        )

    def has_option_like_refs(self) -> bool:
        return self.option_like_refs

    def guarded_files(self, where: str) -> Guarded | None:
        return self.guarded.get(where, frozenset())

    def guarded_unchanged(self) -> bool:
        return self.unchanged

    def guarded_stashed(self) -> bool:
        return self.stashed
