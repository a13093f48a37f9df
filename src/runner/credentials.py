"""What looks like a credential in a text, and where it begins and ends.

Two kinds are known: the values of the environment's credential variables, however they are written,
and strings that have the form of a key or follow a word that announces one. What is neither can't
be told from ordinary text. Texts may be escaped, as JSON within JSON or in addresses.

What is put in place of a secret must begin with `[`: then it is none itself.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, cast
from urllib.parse import quote

T = TypeVar("T")

REDACTED = "[redacted]"

SHORTEST = 8
"""A shorter value is as likely to be an ordinary word, and would cut up every text."""

_FRAGMENT = 12
"""As much of a value is recognised when the rest of it was cut off."""

Mask = Callable[[str], str]
"""Says what stands in place of a secret."""

_NAME = re.compile(
    r"TOKEN(?!S$)|SECRET|PASSW|PASSPHRASE|CREDENTIAL|(?:API|ACCESS|PRIVATE)_?KEY"
    r"|_(?:KEY|PASS|PWD|AUTH|BEARER|COOKIE|PAT|JWT)S?$|AUTH_CONFIG$|_HEADERS$",
    re.IGNORECASE,
)
_CAN_BE_CUT = re.compile(r"(?!\S*://)[^\s{}]{16,512}")
_JSON_KEY = re.compile(
    r"token|secret|passw|credential|(?:private|api|access)_?key$|auth$", re.IGNORECASE
)
_USERINFO = re.compile(r"://[^\s/:@]*:([^\s/@]+)@")
_FOR_URLS = str.maketrans("+/", "-_")

# --- what surrounds a secret, plain or escaped -------------------------------------------------
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f][0-9A-Fa-f]))"
_QUOTE = r"(?:\\{0,15}[\"'`]|%5[Cc]%22|%2[27])"
_SPACE = r"(?:[ \t]|%20|\+|\\+t)"  # on the same line
_GAP = r"(?:[ \t]|%20|%09|\+){0,3}"
_IS = rf"{_QUOTE}?(?:\]|%5[Dd])?{_GAP}(?:=>|[=:]|%3[DdAa]){_GAP}"
_SCHEME = r"(?::|%3[Aa])(?:/|\\{1,8}/|%2[Ff]){2}"
# A character of a value: no end of it in any language, escaped or not, and no expression.
_ESCAPED = r"%(?!2[0267]|3[BbCcEe]|0[0-9A-Fa-f]|5[BbCcDd]|7[BbCcDd])[0-9A-Fa-f]{2}"
_VALUE = rf"(?:[A-Za-z0-9._~+/=@!#^*?:-]|{_ESCAPED})"
_QUOTED = rf"(?:(?!{_QUOTE}|%20|%26|%3[Cc]|%0[AaDd])[^\s\\\[\]<>])"
_IN_ADDRESS = rf"(?:(?!{_QUOTE}|%2[Ff0]|%3[Ff]|%5[Bb])[^\s\\\[\]<>/?#])"
_COOKIE = r"(?:(?!%0[AaDd])[^\s;\"'\\\[])"
_USER = r"(?:[^\s/:@\"'\\%\[]|%(?!3[Aa]|2[Ff])[0-9A-Fa-f]{2}){0,100}"
_MIXED = rf"(?={_VALUE}{{0,60}}?[0-9])(?={_VALUE}{{0,60}}?[A-Za-z])"
_UNUSUAL = rf"(?={_QUOTED}{{0,60}}?[0-9!@#^*?+=%$&])"
_NO_CALL = r"(?![\w.]*\()"
_NO_VARIABLE = r"(?![$<{\[]|%(?:24|3[Cc]|5[Bb]|7[Bb]))"
_NO_PATH = rf"{_NO_VARIABLE}(?![~.]?/[\w.-]+/)"

# --- the words that announce one ---------------------------------------------------------------
_PASSWORD = r"(?i:pass(?:wor[dt]|wd|phrase)|[_-](?:pass|pwd))"  # noqa: S105 - announces one
_KEY = (
    r"(?i:secret|token|credentials?|api[_-]?key|(?:access|account|private|secret|signing|encryption"
    r"|auth|master)[_-]?key|[_-]key)"
)
_VARIABLE = (
    r"(?<!_)(?=[A-Z])[A-Z0-9_]{0,60}?(?:(?P<password>PASS(?:WORD|WD|PHRASE)?|_PWD)|TOKEN|SECRET|_KEY"
    r"|(?:API|ACCESS|PRIVATE)_?KEY|CREDENTIALS?|_AUTH)"
)
# --- private keys: lines of base64 between two markers -----------------------------------------
_MARKER = re.compile(
    r"-----(?:(?P<begin>BEGIN)|END)(?:[A-Z0-9 ]|%(?:25){0,3}20|\+){1,40}PRIVATE"
    r"(?: |%(?:25){0,3}20|\+)KEY(?:(?: |%(?:25){0,3}20|\+)BLOCK)?-----"
)
_CODE = r"(?:[A-Za-z0-9+/=]|%(?:25){0,3}(?:2[BbFf]|3[Dd])|\\{1,8}/)"
_LINE = rf"{_CODE}{{40,20000}}+"
# Between two lines: their ends, quotes, the numbers of lines, signs of a diff, colours.
_JOINT = (
    r"(?:\s|%(?:25){0,3}(?:0[AaDd]|20)|\x1b\[[\d;]{0,9}m|\\{1,15}(?:[nrt]|u001b\[[\d;]{0,9}m)?"
    r"|[\"'`,;>|#*()+]|-(?!----)|[0-9]{1,6}[ \t→:|]){0,60}+"
)
# The name of a file or a time may be at the start of each line. It stays.
_BREAK = rf"{_JOINT}[^\n\\]{{0,80}}?"
_KEY_HEADS = re.compile(
    rf"(?:{_JOINT}(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID): [^\n\\]{{0,120}})*+"
)
_NEXT_LINE = re.compile(rf"{_BREAK}(?P<it>{_LINE})")
_LAST_LINES = re.compile(
    rf"{_BREAK}(?:(?P<last>{_CODE}{{1,80}}+){_BREAK})?(?:(?P<sum>=[A-Za-z0-9+/]{{4}}){_BREAK})?"
)
_CUT_LINE = re.compile(rf"{_JOINT}(?P<it>{_CODE}{{16,}}+)(?![^\s\\\"'`,])")
_JOINED, _APART = re.compile(_JOINT), re.compile(_BREAK)
_ANY_LINE = re.compile(rf"(?<![\\%])(?<!%[0-9A-Fa-f]){_LINE}")

# In each the group `it` is the secret.
_NAMED_BY_THEIR_OWNER = (
    r"sk-(?=[A-Za-z0-9_-]{0,40}[0-9])[A-Za-z0-9_-]{16,}",  # Anthropic and others
    r"(?:[sr]k_(?:live|test)|whsec)_(?:[A-Za-z0-9+/=]|%2[BFbf]|%3[Dd]){16,}",  # Stripe
    r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}",
    r"gl(?:pat|rt|dt|ptt|cbt|oas|soat|ft|imt|agent|ffct)-[\w.-]{16,}",  # GitLab
    r"xox[a-z]-[\w-]{10,}|xapp-[\w-]{20,}",  # Slack
    r"(?:AKIA|ASIA)[A-Z0-9]{16}",  # AWS
    r"AIza[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}",  # Google
    r"(?:npm|hf|pypi|do[opr]_v1)[_-](?=[A-Za-z0-9_-]{0,60}[0-9])[A-Za-z0-9_-]{24,}",
    # Databases, clouds and services whose keys say whose they are.
    (
        r"(?:gsk|r8|ntn|figd|glsa|glc|sbp|fm[12]|fo1|shp(?:at|ss|ca|pa)|lin_api|rubygems|sntry[su]"
        r"|pscale_(?:tkn|pw|oauth)|dckr_(?:pat|oat)|tskey-(?:auth|api)|EAA[AC]|sq0(?:atp|csp))"
        r"[_-](?=[A-Za-z0-9_+/=-]{0,60}[0-9])[A-Za-z0-9_+/=-]{18,}"
    ),
    r"(?:(?:xai|pplx|NRAK)-|ATATT3x|ATCTT3x|ATBB)(?=[A-Za-z0-9_=-]{0,60}[0-9])[A-Za-z0-9_=-]{20,}",
    r"(?:dapi|SK|(?<!-)key-|pul-)[0-9a-f]{32,40}(?![A-Za-z0-9])",  # Databricks, Twilio, Mailgun, Pulumi
    r"SG\.[\w-]{16,}\.[\w-]{30,}",  # SendGrid
    r"hv[sbr]\.[\w-]{20,}|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}",  # HashiCorp
    r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{30,}",  # Doppler
    r"AGE-SECRET-KEY-1[0-9A-Z]{40,}",
    r"sk\.eyJ[\w-]{8,}\.[\w-]{8,}",  # Mapbox
    r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*",  # a JSON web token
)
_SURROUNDED = (
    # headers
    (
        rf"(?i:authorization){_IS}{_QUOTE}?(?i:bearer|basic|token|digest|apikey){_SPACE}{{1,3}}"
        rf"(?P<it>{_NO_VARIABLE}{_VALUE}{{4,}}+)"
    ),
    rf"(?i:authorization){_IS}{_QUOTE}?(?P<it>{_NO_VARIABLE}{_MIXED}{_VALUE}{{12,}}+){_NO_CALL}",
    (
        rf"{_START}(?i:bearer){_SPACE}{{1,3}}"
        r"(?=[\w.~+/=-]*?(?:[0-9]|[._]\w|[+/=]))"
        r"(?P<it>[A-Za-z0-9._~+/=-]{8,})"
    ),
    rf"(?i:x-api-key){_IS}{_QUOTE}?(?P<it>{_NO_VARIABLE}{_VALUE}{{8,}}+){_NO_CALL}",
    rf"(?i:\b(?:set-)?cookie:)[ \t]{{0,3}}(?P<it>{_NO_VARIABLE}(?=.{{6}})(?:[\w.-]+={_COOKIE}+;?[ \t]?)+)",
    # addresses
    (
        rf"{_SCHEME}{_USER}(?::|%3[Aa])(?P<it>{_NO_VARIABLE}{_IN_ADDRESS}{{1,200}})"
        r"(?=(?:@|%40)[A-Za-z0-9\[])"
    ),
    rf"{_SCHEME}(?P<it>{_MIXED}[A-Za-z0-9_-]{{16,}})(?=@|%40)",
    (
        r"(?i:x-amz-(?:signature|security-token|credential)|[?&]sig)(?:=|%3[Dd])"
        r"(?P<it>(?:(?!%0[AaDd]|%2[067])[^\s&\"'\\\[]){8,})"
    ),
    # addresses that are a key as a whole
    r"(?i:hooks\.slack\.com|discord(?:app)?\.com/api)(?:/|\\{1,8}/|%2[Ff])(?:services|webhooks|workflows|triggers)(?:/|\\{1,8}/|%2[Ff])(?P<it>(?:[\w/-]|\\{1,8}/|%2[Ff]){16,})",
    r"(?:bot|%2[Ff]bot)(?P<it>[0-9]{8,10}(?::|%3[Aa])[\w-]{30,})",  # Telegram
    # command lines and files
    (
        rf"(?i:\bcurl\b[^\n]{{0,300}}?{_SPACE}(?:-u|--user)(?:{_SPACE}|=)?){_QUOTE}?[\w.@-]{{1,100}}(?::|%3[Aa])"
        rf"(?P<it>{_NO_VARIABLE}{_QUOTED}{{3,}}+)"
    ),
    rf"(?i:\blogin{_SPACE}[^\s%]{{1,100}}?{_SPACE}password{_SPACE})(?P<it>{_NO_VARIABLE}{_QUOTED}{{3,}}+)",
    (
        rf"--[a-z-]{{0,20}}(?:{_PASSWORD}|{_KEY}){_SPACE}{{1,3}}{_QUOTE}?"
        rf"(?P<it>{_NO_PATH}{_MIXED}{_VALUE}{{6,}}+){_NO_CALL}"
    ),
    (
        rf"{_START}{_VARIABLE}(?:=|%3[Dd]){_QUOTE}?(?P<it>{_NO_PATH}(?!(?i:true|false|none|null)\b)"
        rf"(?(password)|(?:{_MIXED}(?={_VALUE}{{8}})|(?={_VALUE}{{20}}))){_VALUE}{{3,}}+){_NO_CALL}"
    ),
    rf"\bsshpass{_SPACE}{{1,3}}-p{_SPACE}?{_QUOTE}?(?P<it>{_NO_VARIABLE}{_QUOTED}{{3,}}+)",
    rf"\bmysql(?:dump|admin)?\b[^\n]{{0,200}}?{_SPACE}-p(?!ort)(?P<it>{_NO_VARIABLE}{_MIXED}{_QUOTED}{{6,}}+)",
    # hashes of passwords, and the sign-in of a container registry
    r"(?P<it>\$(?:apr1|[156y]|2[aby]|7|argon2id?)\$[A-Za-z0-9./=,$+-]{20,})",
    rf"\"auths?(?:\\{{0,7}}\"){_GAP}:{_GAP}\\{{0,7}}\"(?P<it>(?=[a-z0-9+/]*[A-Z])(?=[A-Za-z+/]*[0-9=])[A-Za-z0-9+/]{{12,}}={{0,2}})(?=\\{{0,7}}\")",
    # anything that says so
    rf"{_PASSWORD}{_IS}{_QUOTE}(?P<it>{_NO_VARIABLE}{_UNUSUAL}{_QUOTED}{{4,}}+)(?={_QUOTE})",
    rf"{_PASSWORD}(?:{_IS}|>|%3[Ee])(?P<it>{_NO_PATH}{_MIXED}{_VALUE}{{6,}}+){_NO_CALL}",
    rf"{_KEY}(?:{_IS}{_QUOTE}?|>|%3[Ee])(?P<it>{_NO_PATH}{_MIXED}{_VALUE}{{12,}}+){_NO_CALL}",
)
_SHAPES = (
    re.compile(rf"{_START}(?P<it>{'|'.join(_NAMED_BY_THEIR_OWNER)})"),
    *map(re.compile, _SURROUNDED),
)


class Redactor:
    """Replaces credentials in texts.

    A text that was cut in the middle of a known value is recognised by what is left of it at
    its beginning or end.

    Args:
        environ: where the values of credential variables are found.
        secrets: further ones, each with its name.
    """

    def __init__(
        self, environ: Mapping[str, str], secrets: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        further = {value: name for value, name in secrets.items() if len(value) >= SHORTEST}
        secrets = {**further, **environment_secrets(environ)}
        self._names = {form: name for value, name in secrets.items() for form in forms_of(value)}
        # The longest first, so that a key that begins with another is not left half.
        alternatives = "|".join(map(re.escape, sorted(self._names, key=len, reverse=True)))
        self._values = re.compile(alternatives) if self._names else None
        self._cut = {value: name for value, name in secrets.items() if _CAN_BE_CUT.fullmatch(value)}

    def text(self, text: str) -> str:
        """Return `text` without credentials; a variable's value is replaced by its name."""
        if self._values is not None:
            text = self._values.sub(lambda found: _mask(self._names[found.group()]), text)
            text = self._without_parts(text)
        return _without_shapes(text)

    def plan(self, text: str) -> str:
        """Return a text that agents and programs work by, without what is certainly a credential.

        An ordinary word that is somebody's password stays, and so does what only follows a word
        that announces one: a plan may well say `password=example1`.
        """
        if self._values is not None:
            text = self._values.sub(self._masked_in_plan, text)
        return _OWNED.sub(REDACTED, text)

    def value(self, value: Any) -> Any:
        """Return a JSON value whose texts, keys included, hold no credentials."""
        return _each_text(value, self.text)

    def plan_value(self, value: Any) -> Any:
        """Return a JSON value as `plan` has its texts."""
        return _each_text(value, self.plan)

    def record(self, value: T) -> T:
        """Return a value of the program, such as an event, as `text` has the texts in it."""
        return cast("T", _record(value, self.text))

    def _masked_in_plan(self, found: re.Match[str]) -> str:
        return found[0] if _MAY_BE_A_WORD.fullmatch(found[0]) else _mask(self._names[found[0]])

    def _without_parts(self, text: str) -> str:
        """Return the text without a value that was cut: it may go on in another text."""
        for secret, name in self._cut.items():
            inner = text.strip()
            if _FRAGMENT <= len(inner) < len(secret) and inner in secret:
                return text.replace(inner, _mask(name))
            end = inner.rfind(secret[:_FRAGMENT], max(0, len(inner) - len(secret)))
            if end >= 0 and secret.startswith(inner[end:]):
                text = text.replace(inner[end:], _mask(name))
            start = inner.find(secret[-_FRAGMENT:], 0, len(secret))
            if start >= 0 and secret.endswith(inner[: start + _FRAGMENT]):
                text = text.replace(inner[: start + _FRAGMENT], _mask(name))
        return text


def announces_secret(name: str) -> bool:
    """Whether a variable's name says that its value is secret."""
    return _NAME.search(name) is not None


_OWNED = _SHAPES[0]
_MAY_BE_A_WORD = re.compile(r"[A-Za-z]{0,15}|[A-Za-z0-9._-]{0,11}")


def environment_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what is secret in the environment, each with the name of its variable.

    A value that is the path of something that exists says where a secret is; it is none. What a
    value holds in JSON or in base64, such as the sign-in to a registry, is secret by itself.
    """
    found: dict[str, str] = {}
    for name, value in environ.items():
        secret = value.strip()
        if _NAME.search(name) and len(secret) >= SHORTEST and not _is_path(secret):
            found.setdefault(secret, name)
            for part in _parts(secret):
                found.setdefault(part, name)
        for password in _USERINFO.findall(value):
            if len(password) >= SHORTEST:
                found.setdefault(password, name)
    return found


def _parts(secret: str) -> Iterator[str]:
    """Yield the secrets within a secret, of at least `SHORTEST` characters."""
    parts = [secret] if not secret.startswith("{") else list(_leaves(_json(secret)))
    for part in parts:
        decoded = _from_base64(part)
        password = decoded.partition(":")[2]
        yield from (p for p in (part, decoded, password) if len(p) >= SHORTEST)


def _leaves(value: Any, key: str = "") -> Iterator[str]:
    """Yield the texts of a JSON value whose key announces a secret."""
    if isinstance(value, Mapping):
        for name, entry in value.items():
            yield from _leaves(entry, name)
    elif isinstance(value, list):
        for entry in value:
            yield from _leaves(entry, key)
    elif isinstance(value, str) and _JSON_KEY.search(key) and "://" not in value:
        yield value


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _from_base64(text: str) -> str:
    """Return the text that this is base64 of, an empty one if it is none."""
    try:
        decoded = base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""
    return decoded if decoded.isprintable() and ":" in decoded else ""


def _mask(name: str) -> str:
    return f"[redacted: {name}]"


def _record(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return clean(value)
    if is_dataclass(value) and not isinstance(value, type):
        before = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
        after = {name: _record(entry, clean) for name, entry in before.items()}
        return value if before == after else replace(value, **after)
    if isinstance(value, Mapping):
        return {_record(key, clean): _record(entry, clean) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_record(entry, clean) for entry in value)
    return value


@lru_cache(maxsize=64)
def _without_shapes(text: str) -> str:
    # A text passes several sinks, and is looked through once.
    return without_shapes(text, lambda _: REDACTED, _mask_of_lines)


def _mask_of_lines(_: str, lines: int) -> str:
    return _mask(f"private key, {lines} {'line' if lines == 1 else 'lines'}")


def _each_text(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): _each_text(entry, clean) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_each_text(entry, clean) for entry in value]
    return value


def forms_of(secret: str) -> set[str]:
    """Return the ways in which a secret may be written; all have at least `SHORTEST` characters.

    A secret of several lines is also one by its lines: tools number and indent them.
    """
    raw = secret.encode(errors="replace")
    plain = {secret, *filter(_is_long, secret.splitlines())}
    forms = set(plain)
    for text in plain:
        escaped = text
        for _ in range(3):  # JSON within JSON within JSON
            escaped = json.dumps(escaped)[1:-1]
            forms |= {escaped, escaped.replace("/", "\\/")}
        addressed = (quote(text, safe="", errors="replace"), quote(text, errors="replace"))
        forms |= {*addressed, *map(quote, addressed), *map(lower_escapes, addressed)}
        forms.add(addressed[0].replace("%20", "+"))
    forms |= {raw.hex(), raw.hex().upper(), *_within_base64(raw)}
    return {form for form in forms if len(form) >= SHORTEST}


def without_shapes(text: str, mask: Mask, mask_key: Callable[[str, int], str] | None = None) -> str:
    """Return the text with a mask in place of whatever looks like a credential.

    Args:
        mask: gets the secret, and returns a text that begins with `[`.
        mask_key: the same for the lines of a private key, and gets their number, too.
    """

    def masked(match: re.Match[str]) -> str:
        start, end = (at - match.start() for at in match.span("it"))
        return match[0][:start] + mask(match["it"]) + match[0][end:]

    # What is taken out may be what hid another; there is less left each time.
    before = None
    while text != before:
        before = text
        text = _without_private_keys(text, mask_key or (lambda key, _: mask(key)))
        for shape in _SHAPES:
            text = shape.sub(masked, text)
    return text


def _without_private_keys(text: str, mask: Callable[[str, int], str]) -> str:
    """Return the text with masks in place of the lines of private keys.

    A key ends at the first line without base64: a marker must not hide the text after it.
    """
    markers = list(_MARKER.finditer(text))
    spans: list[tuple[int, int]] = []
    for last, marker in zip([None, *markers], [*markers, None], strict=True):
        start, end = last.end() if last else 0, marker.start() if marker else len(text)
        closed = marker is not None and not marker["begin"]
        if last and last["begin"]:
            spans += _lines_after(text, start, end, closed=closed)
        if closed:
            start = max((start, *(after for _, after in spans)))
            spans += sorted(_lines_before(text, start, end))
    parts, done = [], 0
    for start, end, lines in _joined(text, spans):
        parts += [text[done:start], mask(text[start:end], lines)]
        done = end
    return "".join((*parts, text[done:]))


def _lines_after(text: str, at: int, end: int, *, closed: bool) -> Iterator[tuple[int, int]]:
    """Yield where the lines of a private key are that begins at `at`."""
    heads = _KEY_HEADS.match(text, at, end)
    first = at = heads.end() if heads else at
    while (line := _NEXT_LINE.match(text, at, end)) and _is_mixed(line["it"]):
        yield line.span("it")
        at = line.end()
    cut = None if closed else _CUT_LINE.match(text, at, end)
    if cut and _is_mixed(cut["it"]):
        yield cut.span("it")
    elif closed and at > first:
        yield from _last_lines(text, at, end) or ()


def _lines_before(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where the lines of a private key are that ends at `end`."""
    lines = [found.span() for found in _ANY_LINE.finditer(text, start, end)]
    after = end
    for line in reversed(lines):
        last = _last_lines(text, line[1], end) if after == end else ()
        joined = last is not None and (after == end or _APART.fullmatch(text, line[1], after))
        if not joined or not _is_mixed(text[slice(*line)]):
            return
        yield from (line, *(last or ()))
        after = line[0]


def _last_lines(text: str, start: int, end: int) -> tuple[tuple[int, int], ...] | None:
    """Return where the short lines between the others and the end are, None if there is more."""
    found = _LAST_LINES.fullmatch(text, start, end)
    return found and tuple(found.span(name) for name in ("last", "sum") if found[name])


def _is_mixed(line: str) -> bool:
    """Whether this can be base64 of something random: it is no path, hash or word."""
    return all(re.search(kind, line) for kind in ("[0-9]", "[a-z]", "[A-Z]"))


def _joined(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Return the spans with their number of lines; those with nothing between them are one."""
    joined: list[tuple[int, int, int]] = []
    for start, end in spans:
        before, at, lines = joined[-1] if joined else (0, 0, 0)
        if joined and _JOINED.fullmatch(text, at, start):
            joined[-1] = (before, end, lines + 1)
        else:
            joined.append((start, end, 1))
    return joined


def lower_escapes(text: str) -> str:
    """Return the text of an address with its escapes in small letters: both are in use."""
    return re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), text)


def _within_base64(raw: bytes) -> set[str]:
    """Return what stands in base64 of something that has these bytes in it."""
    forms: set[str] = set()
    for before in range(3):
        code = base64.b64encode(b"\0" * before + raw)[2 * before :].decode().rstrip("=")
        code = code[:-1] if (before + len(raw)) % 3 else code
        forms |= {code, code.translate(_FOR_URLS)}
    return forms


def _is_long(line: str) -> bool:
    return len(line) >= 2 * SHORTEST


def _is_path(value: str) -> bool:
    try:
        return value.startswith("/") and Path(value).exists()
    except (OSError, ValueError):
        return False


KEYS_BY_THEIR_FORM = Redactor({})
"""Knows no environment: it finds what has the form of a credential."""
