"""The syntax tree: what the parser hands to the walk. Plain slotted classes, for import speed."""

from __future__ import annotations


class Node:
    __slots__ = ()


class Literal(Node):
    """Fixed text. `quoted` keeps it from being a glob, a brace, a tilde or a reserved word."""

    __slots__ = ("quoted", "text")

    def __init__(self, text: str, quoted: bool) -> None:
        self.text = text
        self.quoted = quoted


class Variable(Node):
    """`$name` and every `${…}` form.

    Attributes:
        bare: a name without braces, which text after it would lengthen.
        operator: "" for the plain value, else as written (`:-`, `#`, `//`, `:`, `@`, …); `len`
            for `${#x}`, `!` for `${!x}`, `keys` for `${!a[@]}`, `names` for `${!prefix*}`.
        operands: the words after the operator (two for `/` and for `:offset:length`).
    """

    __slots__ = ("bare", "name", "operands", "operator", "quoted", "subscript")

    def __init__(
        self,
        name: str,
        quoted: bool,
        subscript: WordNode | None = None,
        operator: str = "",
        operands: tuple[WordNode, ...] = (),
    ) -> None:
        self.bare = False
        self.name = name
        self.quoted = quoted
        self.subscript = subscript
        self.operator = operator
        self.operands = operands


class Substitution(Node):
    """`$(…)`, backquotes (kind `$`), `<(…)` and `>(…)` (kind `<` and `>`)."""

    __slots__ = ("body", "kind", "quoted")

    def __init__(self, kind: str, body: Sequence, quoted: bool) -> None:
        self.kind = kind
        self.body = body
        self.quoted = quoted


class Arithmetic(Node):
    """`$((…))`."""

    __slots__ = ("expression", "quoted")

    def __init__(self, expression: WordNode, quoted: bool) -> None:
        self.expression = expression
        self.quoted = quoted


Part = Literal | Variable | Substitution | Arithmetic


class WordNode(Node):
    """One word as written.

    Attributes:
        continued: a backslash-newline stands inside it.
    """

    __slots__ = ("continued", "parts", "source")

    def __init__(self, parts: list[Part], source: str, continued: bool = False) -> None:
        self.parts = parts
        self.source = source
        self.continued = continued

    def plain(self) -> str | None:
        """The text when it is entirely literal, quoted or not."""
        if len(self.parts) == 1:
            part = self.parts[0]
            return part.text if isinstance(part, Literal) else None
        texts = [part.text for part in self.parts if isinstance(part, Literal)]
        return "".join(texts) if len(texts) == len(self.parts) else None


class Assign(Node):
    """`name=value`, `name[subscript]+=value`, `name=(items)`.

    An item may itself be an Assign with an empty name (`[key]=value`).
    """

    __slots__ = ("append", "items", "name", "source", "subscript", "value")

    def __init__(self, name: str, source: str, value: WordNode, *, append: bool) -> None:
        self.name = name
        self.source = source
        self.value = value
        self.append = append
        self.subscript: WordNode | None = None
        self.items: list[WordNode | Assign] | None = None


class Redirect(Node):
    """One redirection. For a here-document `target` is its body, filled in at the line's end."""

    __slots__ = ("delimiter", "fd", "fd_name", "operator", "quoted", "target")

    def __init__(self, operator: str, fd: int | None, fd_name: str | None) -> None:
        self.operator = operator
        self.fd = fd
        self.fd_name = fd_name
        self.target = WordNode([], "")
        self.delimiter = ""
        self.quoted = False


class CommandNode(Node):
    """Base of what can stand in a pipeline."""

    __slots__ = ("redirections",)

    def __init__(self) -> None:
        self.redirections: list[Redirect] = []


class Simple(CommandNode):
    __slots__ = ("assigns", "source", "words")

    def __init__(self) -> None:
        super().__init__()
        self.assigns: list[Assign] = []
        self.words: list[WordNode | Assign] = []
        self.source = ""


class Pipeline(Node):
    __slots__ = ("commands", "negated")

    def __init__(self, commands: list[CommandNode], negated: bool) -> None:
        self.commands = commands
        self.negated = negated


class Chain(Node):
    """Pipelines joined by `&&` and `||`; each pair holds the operator before the pipeline."""

    __slots__ = ("background", "links")

    def __init__(self) -> None:
        self.links: list[tuple[str, Pipeline]] = []
        self.background = False


class Sequence(Node):
    __slots__ = ("chains",)

    def __init__(self) -> None:
        self.chains: list[Chain] = []


class GroupNode(CommandNode):
    """`{ …; }`, or with `subshell` `( … )`."""

    __slots__ = ("body", "subshell")

    def __init__(self, body: Sequence, subshell: bool) -> None:
        super().__init__()
        self.body = body
        self.subshell = subshell


class If(CommandNode):
    __slots__ = ("clauses", "otherwise")

    def __init__(self) -> None:
        super().__init__()
        self.clauses: list[tuple[Sequence, Sequence]] = []
        self.otherwise: Sequence | None = None


class While(CommandNode):
    __slots__ = ("body", "condition", "until")

    def __init__(self, condition: Sequence, body: Sequence, until: bool) -> None:
        super().__init__()
        self.condition = condition
        self.body = body
        self.until = until


class For(CommandNode):
    """`for name in words` and `select`; `words` is None for the positional parameters."""

    __slots__ = ("body", "name", "select", "words")

    def __init__(
        self, name: str, words: list[WordNode] | None, body: Sequence, select: bool
    ) -> None:
        super().__init__()
        self.name = name
        self.words = words
        self.body = body
        self.select = select


class ForArithmetic(CommandNode):
    __slots__ = ("body", "expression")

    def __init__(self, expression: WordNode, body: Sequence) -> None:
        super().__init__()
        self.expression = expression
        self.body = body


class Case(CommandNode):
    __slots__ = ("clauses", "subject")

    def __init__(self, subject: WordNode) -> None:
        super().__init__()
        self.subject = subject
        self.clauses: list[tuple[list[WordNode], Sequence, str]] = []


class Condition(CommandNode):
    """`[[ … ]]`, flattened: every test with its operator, in order.

    What `&&`, `||`, `!` and parentheses do does not matter: all tests count as evaluated.
    """

    __slots__ = ("tests",)

    def __init__(self) -> None:
        super().__init__()
        self.tests: list[tuple[str, list[WordNode]]] = []


class ArithmeticCommand(CommandNode):
    __slots__ = ("expression",)

    def __init__(self, expression: WordNode) -> None:
        super().__init__()
        self.expression = expression


class Function(CommandNode):
    __slots__ = ("body", "name")

    def __init__(self, name: str, body: CommandNode) -> None:
        super().__init__()
        self.name = name
        self.body = body


class Coproc(CommandNode):
    __slots__ = ("body", "name")

    def __init__(self, name: str, body: CommandNode) -> None:
        super().__init__()
        self.name = name
        self.body = body
