"""The settings of the consumer connector are all in its document, and as the document says."""

from pathlib import Path

from barnabas.api.connector.settings import TABLE
from barnabas.api.settings import Declared

DOCUMENT = Path(__file__).parents[2] / "docs/clients/consumer-connector.md"


def row(setting: Declared) -> str:
    names = f"`{setting.name}`" + (
        f" ({', '.join(f'`{alias}`' for alias in setting.aliases)})" if setting.aliases else ""
    )
    default = "" if setting.default is None else f"`{str(setting.default).lower()}`"
    return f"| {names} | {default} | {setting.description} |"


def test_the_table_of_settings_is_that_of_the_source() -> None:
    rows = [row(setting) for setting in TABLE.settings if not setting.refusal]
    table = "\n".join(["| setting | default | what it does |", "| --- | --- | --- |", *rows])
    assert table in DOCUMENT.read_text()
