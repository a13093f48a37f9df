"""The shape of every command's help: what it does, examples, then details."""

# Click keeps the line breaks of a paragraph that begins with this character.
_VERBATIM = "\b"
_WIDEST = 78  # on a terminal of 80 columns, where Click puts two before each line


def help_text(summary: str, *examples: tuple[str, str], details: str = "") -> str:
    """Return a command's help.

    Args:
        summary: one sentence; the list of commands shows it too.
        examples: pairs of a command line and what it is good for.
        details: further paragraphs.
    """
    width = max(len(command) for command, _ in examples)
    lines = [f"  {command:<{width}}  {meaning}".rstrip() for command, meaning in examples]
    if max(map(len, lines)) > _WIDEST:
        stacked = [(f"  {command}", f"      {meaning}") for command, meaning in examples]
        lines = [line for pair in stacked for line in pair if line.strip()]
    parts = [summary, "\n".join((_VERBATIM, "Examples:", *lines)), details]
    return "\n\n".join(part for part in parts if part)
