"""Which values a quota may have."""

import pytest

from barnabas.wire.quotas.limits import MOST_LIMIT, QuotaKind


@pytest.mark.parametrize("kind", QuotaKind)
@pytest.mark.parametrize("limit", [1, MOST_LIMIT - 1, MOST_LIMIT])
def test_a_limit_up_to_kafkas_no_limit_is_stored_and_read_again(kind: QuotaKind, limit: int) -> None:
    parsed = kind.parse(str(limit))
    assert parsed == float(limit)
    assert kind.parse(kind.text(parsed)) == parsed
    if kind.is_long:
        assert kind.text(parsed) == str(min(int(parsed), MOST_LIMIT))


@pytest.mark.parametrize("kind", QuotaKind)
@pytest.mark.parametrize("text", ["0", "-1", str(2 * MOST_LIMIT), "1" * 40, "many", "NaN", "Infinity", ""])
def test_any_other_limit_is_refused(kind: QuotaKind, text: str) -> None:
    with pytest.raises(ValueError, match=kind.key):
        kind.parse(text)
