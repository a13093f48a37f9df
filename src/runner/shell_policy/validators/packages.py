"""Installing packages: what the project declares, and a list of well-known names."""

import json
import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.kinds import check
from runner.shell_policy.shell.facts import ShellWord


def read_project_file(call: CommandCall, name: str) -> str:
    """Return the text of a file in the command's directory or the project, or nothing."""
    for folder in (call.cwd, "."):
        path = call.context.paths.absolute(f"{folder or '.'}/{name}", ".")
        if path is None or not call.context.paths.inside(path):
            continue
        text = call.context.paths.facts.text(path)
        if text is not None:
            return text
    return ""


def package_json(call: CommandCall) -> dict[str, object]:
    """Return the project's package.json, or nothing when it is missing or damaged."""
    try:
        data = json.loads(read_project_file(call, "package.json") or "{}")
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _npm(call: CommandCall) -> None:
    declared = _declared(package_json(call))
    for word in call.parsed.operands:
        text = call.literal(word, "the package")
        name = re.sub(r"(?<!^)@[^/]*$", "", text)
        if re.fullmatch(r"\.{1,2}/[\w./-]+|\.", text):
            check(call, "project", word, "the package")
        elif name not in declared and not _known(call, "npm-packages", text):
            raise call.refuse(f"{text} is not declared in package.json, nor a well-known package.")


def _declared(data: dict[str, object]) -> set[str]:
    names: set[str] = set()
    for key in ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies"):
        section = data.get(key)
        if isinstance(section, dict):
            names |= {str(name) for name in section}
    return names


def _known(call: CommandCall, name: str, text: str) -> bool:
    pattern = call.context.rules.lists.get(name, "(?!)")
    return re.fullmatch(pattern, text, re.VERBOSE | re.IGNORECASE) is not None


def _pip(call: CommandCall) -> None:
    for word in call.parsed.operands:
        text = call.literal(word, "the package")
        if re.fullmatch(r"\.(?:\[[\w,-]+\])?", text):
            continue
        if _known(call, "pip-packages", text) or _is_declared(call, text):
            continue
        raise call.refuse(f"{text} is not declared by the project, nor a well-known package.")
    for word in call.parsed.values("-e", "--editable"):
        text = call.literal(word, "-e")
        check(call, "project", ShellWord.literal(re.sub(r"\[[\w,-]+\]$", "", text)), "-e")
        if "://" in text or text.startswith("git+"):
            raise call.refuse("only the project itself is installed with -e.")
    for word in call.parsed.values("-r", "--requirement", "-c", "--constraint"):
        if "://" in (word.text or ""):
            raise call.refuse("requirements must be a file of the project.")


def _is_declared(call: CommandCall, text: str) -> bool:
    name = re.split(r"[\[=<>!~; ]", text, maxsplit=1)[0]
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name):
        return False
    files = (
        "pyproject.toml",
        "requirements.txt",
        "requirements-dev.txt",
        "dev-requirements.txt",
        "setup.cfg",
        "Pipfile",
    )
    pattern = re.compile(
        rf"(?:^|[\"'\s]){re.escape(name)}(?:[\"'\s\[=<>!~;]|$)", re.MULTILINE | re.IGNORECASE
    )
    return any(pattern.search(read_project_file(call, file)) for file in files)


def _npm_pack(call: CommandCall) -> None:
    if not call.parsed.has("--dry-run"):
        call.run_only("packing")


VALIDATORS = {"npm-packages": _npm, "pip-packages": _pip, "npm-pack": _npm_pack}
