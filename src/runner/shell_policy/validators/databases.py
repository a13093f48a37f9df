"""psql, mysql, redis-cli and their like: a server on this machine, and statements that stay in it."""

import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.kinds import check
from runner.shell_policy.programs import check_own_script
from runner.shell_policy.shell.facts import ShellWord
from runner.shell_policy.validators.inline import check_inline, require_literal

_HOST = r"(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]|0\.0\.0\.0)"
_NAME = re.compile(r"[A-Za-z_][\w-]*")
_ADDRESS = re.compile(
    rf"(?:postgres(?:ql)?|mysql|mongodb|redis)://(?:[\w.%+-]*(?::[^@/?#\s]*)?@)?{_HOST}(?::\d{{1,5}})?(?:/[\w-]*)?"
    r"(?:\?(?:sslmode|connect_timeout|application_name|authSource|directConnection)=[\w-]*"
    r"(?:&(?:sslmode|connect_timeout|application_name|authSource|directConnection)=[\w-]*)*)?"
)
_KEYWORDS = re.compile(
    rf"(?:\s*(?:host={_HOST}|port=\d+|(?:dbname|user|password|application_name)=[\w.-]+|connect_timeout=\d+|sslmode=\w+))+\s*"
)
_META = re.compile(
    r"\\(?:d[A-Za-z]*[+S]*|l\+?|conninfo|x|timing|z|dp|s[fv]\+?|encoding|q)(?:\s+[\w.*\"?+-]+)*\s*;?"
)
_VERBS = re.compile(
    r"(?:select|with|insert|update|delete|values|show|explain|describe|desc|create|alter|begin|start|commit"
    r"|rollback|set|use|analyze|vacuum|replace|comment|refresh|table|end|savepoint|release)\b",
    re.IGNORECASE,
)
_READS = re.compile(
    r"(?:select|with|values|show|explain|describe|desc|set|begin|start|commit|rollback|use|table|end)\b",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"\b(?:insert|update|delete|create|drop|alter|truncate|into|merge|call|do|setval|nextval|replace|analyze"
    r"|vacuum|refresh|lock|notify|grant|revoke|pg_(?:terminate|cancel|reload|advisory|switch|promote|notify)\w*"
    r"|set_config|for\s+update|persist|global)\b",
    re.IGNORECASE,
)
# What reaches files, programs or other servers, or destroys more than rows.
_REACHES_OUT = re.compile(
    r"\b(?:pg_(?:read|ls|stat_file|file|execute|terminate|cancel|reload|rotate|switch|promote|write)\w*|lo_\w+|dblink\w*"
    r"|\w+_fdw|load_file|load\s+data|outfile|dumpfile|infile|sys_exec|sys_eval|sys_get|soname|xp_\w+|\w+_to_xml\w*|secure_file\w*"
    r"|\w*preload_libraries|dynamic_library_path|\w+_command|drop|truncate|copy|install|set\s+(?:local\s+|session\s+)?(?:role|session|global|persist\w*|password)|@@\w+)\b"
    r"|\b(?:create|alter|comment\s+on)\s+(?:or\s+replace\s+)?(?:definer\s*=\s*\S+\s+)?(?:trusted\s+|procedural\s+|aggregate\s+|event\s+|foreign\s+)*"
    r"(?:function|procedure|language|extension|server|role|user|group|event|system|foreign|subscription|publication|tablespace|aggregate|operator|instance|default|access|cast|conversion)\b"
    r"|\balter\s+(?:database|schema)\b",
    re.IGNORECASE,
)
# Settings of the whole server, tables that are another server's or lie in another folder.
_SERVER_WIDE = re.compile(
    r"\s*set\b.*(?:@@|\b(?:global|persist(?:_only)?)\b)|\b(?:data|index)\s+directory\b"
    r"|\bengine\s*=?\s*(?:federated\w*|connect|spider)\b|\bconnection\s*=",
    re.IGNORECASE | re.DOTALL,
)
_EXTENSIONS = re.compile(
    r"\s*create\s+extension\s+(?:if\s+not\s+exists\s+)?\"?(?:uuid-ossp|pgcrypto|citext|pg_trgm|hstore|unaccent|btree_gi[ns]t?|vector|ltree)\"?\s*",
    re.IGNORECASE,
)
_UNBOUNDED = re.compile(
    r"\b(?:delete\s+from|update\s+(?:only\s+)?[\w.']+\s+set)\b(?!.*\bwhere\b)",
    re.IGNORECASE | re.DOTALL,
)
# A string, a quoted name or a comment, whichever begins first.
_TOKEN = re.compile(r"'(?:[^'\\]|'')*'|\"[\w .-]*\"|`[\w .-]*`|--(?:\s[^\n]*|$)", re.MULTILINE)
_QUOTED = re.compile(r"[\"`]([\w .-]*)[\"`](\s*\()?")
# What could be read in two ways after that: it is refused.
_UNCLEAR = re.compile(r"\\|\$\w*\$|/\*|\*/|#|--|[\"`]|(?<!')'(?!')")


def check_database(call: CommandCall, word: ShellWord) -> None:
    """Refuse a database that is not named plainly or not on this machine."""
    text = call.literal(word, "the database")
    if not any(form.fullmatch(text) for form in (_NAME, _ADDRESS, _KEYWORDS)):
        raise call.refuse(
            f"{text} is no database on this machine. Write its name, or an address on localhost."
        )


def plain_sql(text: str) -> str:
    """Return SQL with empty strings for texts and names in quotes, and without `--` comments.

    The name of a function stays (`"pg_read_file"('x')` calls it all the same).
    """
    names = _TOKEN.sub(_without_text, text)
    return _QUOTED.sub(lambda name: f" {name[1]}(" if name[2] else "''", names)


def _without_text(token: re.Match[str]) -> str:
    if token[0][0] in '"`':
        return token[0]
    return " " if token[0].startswith("-") else "''"


def check_statements(call: CommandCall, text: str) -> None:
    """Refuse SQL that a server on this machine should not get from an agent."""
    bare = plain_sql(text)
    if _UNCLEAR.search(bare):
        raise call.refuse(
            "only plain statements are allowed: no backslash, no $$ quoting, no comments but "
            "-- ones, and a text in single quotes."
        )
    for statement in filter(str.strip, bare.split(";")):
        _statement(call, statement)


def _statement(call: CommandCall, statement: str) -> None:
    if _EXTENSIONS.fullmatch(statement) and call.context.mode == "run":
        return
    found = None if _VERBS.match(statement.strip()) else re.match(r"\s*(\w*)", statement)
    found = found or _REACHES_OUT.search(statement) or _SERVER_WIDE.search(statement)
    if found:
        raise call.refuse(
            f"{found[0].strip() or 'this'} is not allowed. Use plain statements on the tables of the "
            "project; put others into its migrations."
        )
    if _UNBOUNDED.search(statement):
        raise call.refuse("changing all rows is not allowed. Add WHERE.")
    reads = _READS.match(statement.strip()) and not _CHANGES.search(statement)
    if call.context.mode == "sync" and not reads:
        raise call.refuse("this session is read-only: only SELECT, SHOW and EXPLAIN.")


def _psql(call: CommandCall) -> None:
    for word in call.parsed.values("-o", "--output"):
        if (word.text or "|").startswith("|"):
            raise call.refuse("-o must name a file.")
    for word in [*call.parsed.values("-d", "--dbname"), *call.parsed.operands[:1]]:
        check_database(call, word)
    for word in call.parsed.values("-c", "--command"):
        for text in require_literal(call, word, "the statement"):
            if text.lstrip().startswith("\\"):
                _meta(call, text.strip())
            else:
                check_statements(call, text)
    for word in call.parsed.values("-f", "--file"):
        check_sql_file(call, word)
    if not call.parsed.has("-c", "--command", "-f", "--file", "-l", "--list"):
        _stdin(call)


def _meta(call: CommandCall, text: str) -> None:
    if not _META.fullmatch(text):
        raise call.refuse(
            f"{text.split(maxsplit=1)[0]} is not allowed. Use \\d, \\dt, \\l or a statement."
        )


def _stdin(call: CommandCall) -> None:
    """A here-document; lines that begin with a backslash are psql's own commands."""
    if call.command.piped or call.command.stdin is None:
        raise call.refuse("give the statements with -c, or in a quoted here-document.")
    lines = call.command.stdin.splitlines()
    for line in lines:
        if line.lstrip().startswith("\\"):
            _meta(call, line.strip())
    check_statements(call, "\n".join(x for x in lines if not x.lstrip().startswith("\\")))


def check_sql_file(call: CommandCall, word: ShellWord) -> None:
    """Refuse a file of statements that is not the project's; it may do what a script may."""
    text = call.literal(word, "the file")
    if not text.endswith(".sql"):
        raise call.refuse(f"{text} is not an .sql file of the project.")
    check(call, "project", word, "the file")
    check_own_script(call.context, text, call.cwd)
    call.run_only("running a file")


def _mysql(call: CommandCall) -> None:
    for word in [*call.parsed.values("-D", "--database"), *call.parsed.operands]:
        if not _NAME.fullmatch(call.literal(word, "the database")):
            raise call.refuse(f"{word.source} is not the name of a database.")
    values = call.parsed.values("-e", "--execute")
    for word in values:
        for text in require_literal(call, word, "the statement"):
            check_statements(call, text)
    if not values and call.rule.data.get("statements") != "none":
        if call.command.piped or call.command.stdin is None:
            raise call.refuse("give the statements with -e, or in a quoted here-document.")
        check_statements(call, call.command.stdin)


def _mongosh(call: CommandCall) -> None:
    for word in call.parsed.operands:
        text = call.literal(word, "the address")
        if not (_ADDRESS.fullmatch(text) or _NAME.fullmatch(text)):
            plain = re.fullmatch(rf"{_HOST}(?::\d+)?(?:/[\w-]+)?", text)
            if not plain:
                raise call.refuse(f"{text} is no database on this machine.")
    code = call.parsed.values("--eval")
    if not code:
        raise call.refuse("name what to do with --eval.")
    for word in code:
        texts = require_literal(call, word)
        check_inline(call, "node", texts)
        for text in texts:
            found = re.search(
                r"\bdrop\w*|shutdown\w*|adminCommand|\b(?:load|require|connect|Mongo|snippet)\b|\[",
                text,
            )
            if found:
                raise call.refuse(f"{found[0]} is not allowed here.")


def _redis(call: CommandCall) -> None:
    """Commands by name; those that only read in sync."""
    for word in call.parsed.values("-u"):
        if not _ADDRESS.fullmatch(call.literal(word, "-u")):
            raise call.refuse(f"{word.source} is not on this machine.")
    words = call.parsed.operands
    if not words:
        if not call.parsed.has("--scan", "--bigkeys", "--memkeys"):
            raise call.refuse("name a command such as get or keys.")
        return
    verb = call.literal(words[0], "the command").casefold()
    more = (words[1].text or "").casefold() if len(words) > 1 else ""
    lists = call.context.rules.lists
    reads = re.fullmatch(lists["redis-reads"], verb, re.VERBOSE)
    reads = reads or re.fullmatch(
        lists["redis-reads"], f"{verb} {more}".replace(" ", "_"), re.VERBOSE
    )
    writes = re.fullmatch(lists["redis-writes"], verb, re.VERBOSE)
    if not reads and not writes:
        raise call.refuse(f"{verb} is not allowed. Read or write keys of the project.")
    if not reads:
        call.run_only(verb)


def _dump(call: CommandCall) -> None:
    for word in [*call.parsed.values("-d", "--dbname"), *call.parsed.operands]:
        check_database(call, word)


def _kubectl_version(call: CommandCall) -> None:
    if not call.parsed.has("--client"):
        raise call.refuse("add --client; a cluster is out of reach.")


VALIDATORS = {
    "psql": _psql,
    "mysql": _mysql,
    "mongosh": _mongosh,
    "redis": _redis,
    "database-dump": _dump,
    "kubectl-version": _kubectl_version,
}
