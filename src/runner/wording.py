"""Words that several packages need to say the same thing in the same way."""


def plural(count: int, noun: str, many: str | None = None) -> str:
    """Return `1 tool`, `2 tools`.

    Args:
        many: the noun for any number but one, where it is not `noun` with an s.
    """
    return f"{count} {noun}" if count == 1 else f"{count} {many or noun + 's'}"
