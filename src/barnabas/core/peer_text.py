"""Shows what peers call things, and what they say, on one line of a log or of a terminal.

The name of a client, a group, a topic or a user may be any text. As it is, a line break in it begins a line that looks
like one of ours, an escape sequence steers the terminal, a mark that turns the writing round or has no width makes one
name look like another, and a long one fills the disk. A text of which something can't be printed (`str.isprintable`:
control characters, line breaks, marks without a shape, halves of characters, blanks other than the plain one) is
therefore shown as Python writes it, as in `\\x1b` or `\\u202e`. All others stay as they are, in any script.
"""

import json


def on_one_line(text: str, most_characters: int | None = None) -> str:
    """Show a text on one line.

    Args:
        most_characters: Where what is shown is cut; its end then says how long the text is. None: nowhere.
    """
    shown = text if most_characters is None else text[:most_characters]
    if not shown.isprintable():
        # All of it, and not only what can't be printed: a stranger's 32 KB of them must not cost a millisecond.
        shown = shown.encode("unicode_escape").decode()
    if most_characters is not None and max(len(text), len(shown)) > most_characters:
        return f"{shown[:most_characters]}... ({len(text):,} characters)"
    return shown


def on_lines(text: str) -> str:
    """Show a text of several lines, or with tabs: as it is, but for what can't be printed."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(each if each.isprintable() or each in "\n\t" else on_one_line(each) for each in text)


def to_json(value: object, *, indent: int | None = None) -> str:
    """Write JSON in which everything can be printed, and what can be is readable in any script.

    `json.dumps` escapes the control characters of ASCII alone, where it does not escape all that is not ASCII.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ": " if indent else ":"), indent=indent)
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text)
