"""Changes put on settings; what Kafka makes of each is in tests/golden/altered-configs.txt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.administration.config_rules import ConfigChange, ConfigOperation, changed, check_changes
from barnabas.core.config.settings import TOPIC_SETTINGS
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError

SET, DELETE, APPEND, SUBTRACT = ConfigOperation
POLICY = "cleanup.policy"


@pytest.mark.parametrize(
    ("now", "operation", "value", "expected"),
    [
        (None, APPEND, "compact", "delete,compact"),
        (None, SUBTRACT, "delete", ""),
        ("", APPEND, "compact", ",compact"),
        ("a,b,a", SUBTRACT, "a", "b,a"),
        ("a,b,a", SUBTRACT, "a,c,a", "b"),
        ("a,b", APPEND, "c,,", "a,b,c"),
        ("a,b", APPEND, ",", "a,b"),
        ("a", SET, "b", "b"),
        ("a", DELETE, None, None),
        (None, DELETE, None, None),
    ],
)
def test_a_list_is_changed_as_its_text_is(now, operation, value, expected):
    overrides = {} if now is None else {POLICY: now}
    assert changed(overrides, [ConfigChange(POLICY, operation, value)], TOPIC_SETTINGS).get(POLICY) == expected


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (ConfigChange("retention.ms", APPEND, "1"), ErrorCode.INVALID_REQUEST),
        (ConfigChange("no.such.setting", SUBTRACT, "1"), ErrorCode.UNKNOWN_SERVER_ERROR),
        (ConfigChange(POLICY, 4, "1"), ErrorCode.UNKNOWN_SERVER_ERROR),
        (ConfigChange(POLICY, -1, "1"), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_what_is_no_list_or_no_operation_is_refused(change, code):
    with pytest.raises(KafkaError) as caught:
        changed({}, [change], TOPIC_SETTINGS)
    assert caught.value.code is code


def test_nothing_is_changed_twice_or_set_to_nothing():
    with pytest.raises(KafkaError, match="duplicate config keys : a"):
        check_changes([ConfigChange("a", SET, "1"), ConfigChange("b", SET, "1"), ConfigChange("a", DELETE, None)])
    with pytest.raises(KafkaError, match="Null value not supported for : SET:a,null:b"):
        check_changes([ConfigChange("a", SET, None), ConfigChange("b", 9, None), ConfigChange("c", DELETE, None)])


@given(st.dictionaries(st.sampled_from("abc"), st.text(max_size=3)), st.text(max_size=8))
def test_what_is_appended_and_subtracted_again_is_gone(others, value):
    settings = {POLICY: TOPIC_SETTINGS[POLICY]}
    now = {**others, POLICY: "x,y"}
    longer = changed(now, [ConfigChange(POLICY, APPEND, value)], settings)
    shorter = changed(longer, [ConfigChange(POLICY, SUBTRACT, value)], settings)
    assert sorted(shorter.pop(POLICY).split(",")) == ["x", "y"]
    assert shorter == others
