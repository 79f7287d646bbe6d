"""The texts that `scripts/check --sample` chooses from."""

from pathlib import Path

from tools.text_sample import paragraphs, sample, source_texts

DOCUMENT = """# Heading with four words

One paragraph of
two lines.
<!-- a comment
of two lines -->

- The first item
  goes on.
- The second item

| a | b |
| --- | --- |
| the third | row |

    indented code is left out

```sh
code in a fence
```
The end.
"""
SOURCE = '''"""The module's docstring."""


def run(parser, value):
    """Do it."""
    parser.add_argument("--x", help="The value " "to use.")
    if value:
        raise ValueError(f"{value!r} is not " "supported")
    print("it failed: " + value, file=sys.stderr)
    print("it worked")
    logger.warning("the disk %s is full", value)


HELP = paragraphs("""Do a thing.""")
'''


def test_paragraphs_have_their_lines_and_no_code() -> None:
    assert [(line, text) for _, line, text in paragraphs("a.md", DOCUMENT)] == [
        (3, "One paragraph of two lines."),
        (8, "- The first item goes on."),
        (10, "- The second item"),
        (12, "| a | b |"),
        (14, "| the third | row |"),
        (21, "The end."),
    ]


def test_texts_of_a_module_have_their_kinds() -> None:
    found = [(kind, text.line, text.text) for kind, text in source_texts("a.py", SOURCE) if text.text]
    assert sorted(found) == [
        ("docstrings", 1, "The module's docstring."),
        ("docstrings", 5, "Do it."),
        ("errors", 8, "{value} is not supported"),
        ("errors", 9, "it failed: "),
        ("errors", 11, "the disk %s is full"),
        ("help texts", 6, "The value to use."),
        ("help texts", 14, "Do a thing."),
    ]


def test_a_seed_chooses_the_same_texts_again(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/page.md").write_text("\n\n".join(f"This is paragraph number {number}." for number in range(50)))
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text(SOURCE)
    chosen = sample(tmp_path, "7")
    assert {kind: len(texts) for kind, texts in chosen.items()} == {
        "paragraphs of docs": 20,
        "help texts": 1,
        "errors": 2,
        "docstrings": 0,
    }
    assert sample(tmp_path, "7") == chosen
    assert sample(tmp_path, "8") != chosen
