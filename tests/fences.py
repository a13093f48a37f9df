"""What a text says outside of its fences, where a model takes it for instructions."""


def outside_of_fences(text: str) -> str:
    """Return the lines that no fence of tildes holds.

    Raises:
        AssertionError: a fence is not closed.
    """
    fence, outside = "", []
    for line in text.split("\n"):
        if fence:
            fence = "" if line == fence else fence
        elif line.startswith("~~~~"):
            fence = line.partition(" ")[0]
        else:
            outside.append(line)
    assert not fence
    return "\n".join(outside)
