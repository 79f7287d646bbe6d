"""`python -m tools.text_sample SEED [PATH]`: print random texts of the project, for a reader to judge their English.

Twenty paragraphs of docs, help texts, errors and docstrings each, with their file and line. PATH is a checkout, this
one by default: so one tool samples two commits. The same seed and the same files give the same texts.
"""

import argparse
import ast
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

COUNT = 20
LEAST_WORDS = 4
# Documents that are generated from the source.
GENERATED = ("cli.md", "configs.md", "metrics.md", "protocol.md")
# Calls whose text reaches users when something fails: methods of loggers and parsers, and functions.
ERROR_METHODS = {"error", "warning", "exception", "critical", "exit"}
HELP_KEYWORDS = {"help", "description", "epilog", "meaning"}
HELP_FUNCTIONS = {"flag", "paragraphs"}


class Text(NamedTuple):
    path: str
    line: int
    text: str


def paragraphs(path: str, document: str) -> Iterator[Text]:
    """Yield a document's paragraphs, list items and rows of tables, without code, headings and comments."""
    is_code = is_comment = False
    start, lines = 0, list[str]()
    for number, line in enumerate([*document.splitlines(), ""], 1):
        words = line.strip()
        is_fence = words.startswith(("```", "~~~"))
        is_comment = is_comment or words.startswith("<!--")
        is_break = not words or is_fence or is_code or is_comment or words.startswith("#")
        if lines and (is_break or re.match(r"[-*|]|\d+\.", words)):
            yield Text(path, start, " ".join(lines))
            lines = []
        # Four spaces begin code, unless they continue a list item.
        if not is_break and not set(words) <= set("|-: ") and (lines or not line.startswith("    ")):
            start, lines = start if lines else number, [*lines, words]
        is_code ^= is_fence
        is_comment = is_comment and "-->" not in words


def string(node: ast.expr | None) -> str:
    """Return the text of a string in the source, with the expressions of an f-string in braces; "" for others."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(
                f"{{{ast.unparse(part.value)}}}" if isinstance(part, ast.FormattedValue) else string(part)
                for part in parts
            )
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return string(left) + string(right)
        case ast.Call(func=ast.Name(id="paragraphs"), args=[text, *_]):
            return string(text)
    return ""


def is_error(call: ast.Call) -> bool:
    """Return whether a call prints or logs a failure, or writes to standard error."""
    match call.func:
        case ast.Attribute(attr=name):
            return name in ERROR_METHODS
        case ast.Name(id="print"):
            return any(each.arg == "file" and ast.unparse(each.value) == "sys.stderr" for each in call.keywords)
    return False


def source_texts(path: str, source: str) -> Iterator[tuple[str, Text]]:
    """Yield the help texts, errors and docstrings of a module with their kinds."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                if text := ast.get_docstring(node):
                    yield "docstrings", Text(path, node.body[0].lineno, text)
            case ast.Raise(exc=ast.Call(args=args)):
                yield from (("errors", Text(path, each.lineno, string(each))) for each in args)
            case ast.Call(func=function, args=args, keywords=keywords):
                if is_error(node):
                    yield from (("errors", Text(path, each.lineno, string(each))) for each in args)
                if isinstance(function, ast.Name) and function.id in HELP_FUNCTIONS:
                    yield from (("help texts", Text(path, each.lineno, string(each))) for each in args)
                values = [each.value for each in keywords if each.arg in HELP_KEYWORDS]
                yield from (("help texts", Text(path, each.lineno, string(each))) for each in values)


def sample(root: Path, seed: str) -> dict[str, list[Text]]:
    """Choose the texts of each kind from a checkout; fewer if there are fewer."""
    found: dict[str, set[Text]] = {
        "paragraphs of docs": set(),
        "help texts": set(),
        "errors": set(),
        "docstrings": set(),
    }
    for file in sorted(each for each in [*root.glob("*.md"), *root.glob("docs/**/*.md")] if each.name not in GENERATED):
        found["paragraphs of docs"] |= set(paragraphs(file.relative_to(root).as_posix(), file.read_text()))
    for file in sorted(root.glob("src/**/*.py")):
        for kind, text in source_texts(file.relative_to(root).as_posix(), file.read_text()):
            found[kind].add(text)
    chosen = {}
    for kind, texts in found.items():
        enough = sorted(text for text in texts if len(re.findall(r"\w\w+", text.text)) >= LEAST_WORDS)
        # A string seed gives the same sequence in all processes and versions.
        chosen[kind] = sorted(random.Random(f"{seed} {kind}").sample(enough, min(COUNT, len(enough))))
    return chosen


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.text_sample", description=__doc__)
    parser.add_argument("seed", metavar="SEED", help="any text; the same one chooses the same texts")
    parser.add_argument("root", metavar="PATH", nargs="?", type=Path, default=Path(__file__).parents[1])
    options = parser.parse_args()
    for kind, texts in sample(options.root, options.seed).items():
        print(f"== {len(texts)} {kind}")
        for text in texts:
            print(f"\n{text.path}:{text.line}\n{text.text.strip()}")
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
