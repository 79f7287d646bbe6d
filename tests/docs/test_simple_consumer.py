"""The simple consumer's page lists its settings as they are."""

from pathlib import Path

from barnabas.api.simple_consumer_settings import SETTINGS

PAGE = Path(__file__).parents[2] / "docs/clients/simple-consumer.md"


def test_every_setting_is_there_with_its_names_and_default() -> None:
    section = PAGE.read_text().partition("## Settings")[2]
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in section.splitlines()]
    found = {row[0]: row[1:3] for row in rows if len(row) == 4 and "." in row[0]}
    assert {name: default for name, (_, default) in found.items()} == {
        each.name: str(each.default or "") for each in SETTINGS.settings
    }
    for each in SETTINGS.settings:
        assert set(each.aliases) <= {found[each.name][0]}
