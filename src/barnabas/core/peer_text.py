"""Shows texts from peers safely on one line of a log or a terminal.

The name of a client, a group, a topic or a user may be any text. Unescaped, a line break in it starts a line that looks
like Barnabas's own, an escape sequence controls the terminal, a bidirectional or zero-width mark makes one name look
like another, and a long name fills the disk. A text with unprintable characters (`str.isprintable`: control characters,
line breaks, invisible marks, lone surrogates, blanks other than the plain one) is therefore shown with Python's
escapes, as in `\\x1b` or `\\u202e`. All other texts stay unchanged, in any script.
"""

import json


def on_one_line(text: str, most_characters: int | None = None) -> str:
    """Show a text on one line.

    Args:
        most_characters: The length limit; a cut text ends with its full length. None: no limit.
    """
    shown = text if most_characters is None else text[:most_characters]
    if not shown.isprintable():
        # Escape the whole text, not single characters: 32 KB from an untrusted peer must not cost a millisecond.
        shown = shown.encode("unicode_escape").decode()
    if most_characters is not None and max(len(text), len(shown)) > most_characters:
        return f"{shown[:most_characters]}... ({len(text):,} characters)"
    return shown


def on_lines(text: str) -> str:
    """Show a text with several lines or tabs: only unprintable characters are escaped."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(each if each.isprintable() or each in "\n\t" else on_one_line(each) for each in text)


def to_json(value: object, *, indent: int | None = None) -> str:
    """Write JSON without unprintable characters, and readable in any script.

    With `ensure_ascii=False`, `json.dumps` escapes only ASCII control characters.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ": " if indent else ":"), indent=indent)
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text)
