"""java, sqlite3, hyperfine: what is run, and which statements, in their own languages."""

import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.kinds import check
from runner.shell_policy.scripts import require_script
from runner.shell_policy.shell.facts import ShellWord
from runner.shell_policy.validators.databases import check_sql_file, plain_sql
from runner.shell_policy.validators.python import protect

_JAVA_FLAGS = re.compile(
    r"-(?:ea|esa|server|enableassertions)|--enable-preview|-X(?:mx|ms|ss)\d+[kmgKMG]?"
    r"|-D(?!java\.|javax\.|sun\.|jdk\.)[\w.-]+(?:=[\w.:,@%+-]*)?"
)
_CLASS = re.compile(r"[A-Za-z_]\w*(?:[./$]\w+)*")
_CLASS_PATHS = frozenset({"-cp", "-classpath", "--class-path"})

_DOT = re.compile(
    r"\.(?:schema|tables|indexes|indices|headers?|mode|databases|width|timer|dump|fullschema|nullvalue|help|show)"
    r"(?:[ \t]+[\w%*.,-]+)*[ \t]*"
)
# Functions and tables of the shell program that reach files or code, and statements that do.
_SQL_REACHES_OUT = re.compile(
    r"\b(?:attach|load_extension|readfile|writefile|fsdir\w*|zipfile\w*|sqlar\w*|lsmode|fts3_tokenizer|csv"
    r"|\w+_directory|shell_\w+)\b|\bvacuum\b.*\binto\b|\bedit\W*\(|\bpragma\b.*\bwritable_schema\b",
    re.IGNORECASE | re.DOTALL,
)
_SQL_READS = re.compile(
    r"\s*(?:select|with|explain|values|pragma\s+(?:table_x?info|index_list|index_info|foreign_key_list"
    r"|table_list|database_list|user_version(?!\s*\()|integrity_check|quick_check|foreign_key_check|compile_options)\b(?!\s*=))",
    re.IGNORECASE,
)
_SQL_CHANGES = re.compile(
    r"\b(?:insert|update|delete|replace\s+into|create|drop|alter|reindex|vacuum)\b", re.IGNORECASE
)


def _java(call: CommandCall) -> None:
    """Classes and archives of the project; what follows the class are its own arguments."""
    words = list(call.args)
    while words:
        word = words.pop(0)
        text = call.literal(word, "the option")
        if text in _CLASS_PATHS and words:
            for entry in call.literal(words.pop(0), "the class path").split(":"):
                check(call, "project", ShellWord.literal(entry or "."), "the class path")
        elif text == "-jar" and words:
            check(call, "project", words.pop(0), "the archive")
            protect(call, words)
            return
        elif text.startswith("-"):
            if not _JAVA_FLAGS.fullmatch(text):
                raise call.refuse(
                    f"the option {text} is not allowed. Use -cp FOLDER Class, -jar FILE, -ea, -Xmx "
                    "or -Dname=value, or run it through gradle or maven."
                )
        else:
            if not _CLASS.fullmatch(text) or text.endswith(".java"):
                check(call, "project", word, "the program")
            protect(call, words)
            return
    raise call.refuse("needs a class: java -cp out Main.")


def _sqlite(call: CommandCall) -> None:
    """A database of the project, and statements that stay in it; in sync those that only read."""
    operands = call.parsed.operands
    if not operands:
        raise call.refuse('name the database and the statement: sqlite3 app.db "select 1".')
    name = call.literal(operands[0], "the database")
    if name != ":memory:":
        _database(call, operands[0], name)
    if len(operands) == 1 and not _reads_file(call):
        if call.command.piped or call.command.stdin is None:
            raise call.refuse(
                'give the statements as an argument (sqlite3 app.db "select 1") or in a '
                "here-document."
            )
        lines = call.command.stdin.splitlines()
        for line in lines:
            if line.lstrip().startswith("."):
                _dot(call, line.strip())
        _statements(call, "\n".join(one for one in lines if not one.lstrip().startswith(".")))
    for word in operands[1:]:
        text = _literal_text(call, word)
        if text.startswith("."):
            _dot(call, text)
        else:
            _statements(call, text)


def _reads_file(call: CommandCall) -> bool:
    """Whether the statements are a file of the project (`< schema.sql`): a script like any other."""
    inputs = [r for r in call.command.redirections if r.operator.startswith("<") and not r.fd]
    if call.command.piped or not inputs or inputs[0].operator != "<":
        return False
    check_sql_file(call, inputs[0].target)
    return True


def _literal_text(call: CommandCall, word: ShellWord) -> str:
    if word.glob:
        raise call.refuse(f"quote {word.source}; the shell would expand it.")
    return call.literal(word, "the statement")


def _database(call: CommandCall, word: ShellWord, name: str) -> None:
    if name.startswith("file:"):
        raise call.refuse("name the database by its path.")
    if call.context.mode == "run":
        check(call, "write", word, "the database")
        return
    paths = call.context.paths
    paths.refuse_guarded(name, name)
    paths.read(name, call.cwd)
    real = paths.absolute(name, call.cwd)
    if real is None or not (paths.inside(real) or paths.in_scratch(real)):
        raise call.refuse(f"{name} is not in the project or under /tmp.")


def _dot(call: CommandCall, text: str) -> None:
    read = re.fullmatch(r"\.read\s+([\w./-]+)\s*", text)
    if read:
        check_sql_file(call, ShellWord.literal(read[1]))
        return
    if not _DOT.fullmatch(text):
        raise call.refuse(
            f"{text.split(maxsplit=1)[0]} is not allowed. Use .schema, .tables, .indexes, .headers, .mode or "
            ".dump; write files by redirecting the output."
        )


def _statements(call: CommandCall, text: str) -> None:
    found = _SQL_REACHES_OUT.search(text)
    if found:
        raise call.refuse(
            f"{found[0].split()[0]} reaches beyond the database. Use plain statements on its tables."
        )
    if call.context.mode == "run":
        return
    bare = plain_sql(text)
    if re.search(r"--|/\*|[\"`']{3}", bare):
        raise call.refuse("leave comments and doubled quotes out of the statement.")
    if any(part.strip() and not _SQL_READS.match(part) for part in bare.split(";")) or (
        _SQL_CHANGES.search(bare)
    ):
        raise call.refuse("this session is read-only: only SELECT, EXPLAIN and .schema.")


def _hyperfine(call: CommandCall) -> None:
    """Each argument is a command line of its own."""
    commands = [
        *call.parsed.operands,
        *call.parsed.values("--prepare", "-p", "--setup", "-s", "--cleanup", "-c"),
    ]
    if not call.parsed.operands:
        raise call.refuse("name the commands to compare: hyperfine './a' './b'.")
    for word in commands:
        require_script(call.literal(word, "the command"), call.context, call.command)


VALIDATORS = {"java": _java, "sqlite": _sqlite, "hyperfine": _hyperfine}
