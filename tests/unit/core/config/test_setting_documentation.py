"""What is said of each setting to those who ask for its documentation."""

import pytest

from barnabas.core.config.documentation import TEXTS, document_broker_setting, document_topic_setting
from barnabas.core.config.settings import BROKER_DYNAMIC_ONLY_SETTINGS, BROKER_SETTINGS, TOPIC_SETTINGS

MOST_CHARACTERS = 240


def test_there_are_texts_for_settings_that_there_are() -> None:
    of_topics = {setting.extra for setting in TOPIC_SETTINGS.values()}
    assert TEXTS.keys() == BROKER_SETTINGS.keys() | BROKER_DYNAMIC_ONLY_SETTINGS.keys() | of_topics
    # They are for readers who look for one.
    assert list(TEXTS) == sorted(TEXTS)


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_one_or_two_sentences_for_a_table(name: str) -> None:
    text = TEXTS[name]
    assert text.endswith(".")
    assert text == " ".join(text.split())
    assert text[0].isupper() or text.startswith("min.insync.replicas")
    # Nothing that a table of docs/configs.md would take for its own.
    assert set("|`<>") & set(text) == set()


@pytest.mark.parametrize(
    ("document", "names"), [(document_broker_setting, BROKER_SETTINGS), (document_topic_setting, TOPIC_SETTINGS)]
)
def test_every_setting_that_is_described_has_a_short_text(document, names) -> None:
    told = {name: document(name) for name in names}
    assert [name for name, text in told.items() if not text or len(text) > MOST_CHARACTERS] == []


def test_what_does_not_work_says_so() -> None:
    assert document_broker_setting("queued.max.requests") == f"{TEXTS['queued.max.requests']} In Barnabas: no effect."
    assert document_broker_setting("ssl.engine.factory.class").endswith(
        "In Barnabas: refused but for Kafka's own class."
    )
    assert document_broker_setting("security.providers").endswith("In Barnabas: refused.")
    assert document_broker_setting("log.dirs") == TEXTS["log.dirs"]


def test_a_topic_and_its_broker_say_the_same() -> None:
    assert document_topic_setting("retention.ms") == document_broker_setting("log.retention.ms")


def test_what_is_no_setting_has_none() -> None:
    for name in ("listener.name.plaintext.max.connections", "retention.ms", "leader.replication.throttled.replicas"):
        assert document_broker_setting(name) is None
    for name in ("log.retention.ms", "what"):
        assert document_topic_setting(name) is None
