from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from barnabas.pipeline.report import text


@given(st.text(alphabet=st.characters()))
def test_any_text_can_be_written_and_has_nothing_unseen_in_it(value):
    shown = text.plain(value)
    shown.encode("utf-8")
    assert not any(ord(char) < 0x20 or 0x202A <= ord(char) <= 0x202E for char in shown)


def test_text_that_means_harm_is_shown_as_what_it_is():
    assert text.shown("<b>&\"'") == '<bdi dir="ltr">&lt;b&gt;&amp;&quot;&#x27;</bdi>'
    assert text.plain("a\x00\x1b\u202e\ud800") == "a\\x00\\x1b\\u202e\\ud800"
    assert text.plain("x" * 500, longest=5) == "xxxx…"
    assert text.shown(" ") == text.shown("") == '<span class="empty">empty</span>'


def test_decimals_shares_and_sizes():
    assert [text.decimal(1_204.56), text.decimal(2.5e9)] == ["1,204.6", "2.5G"]
    assert [text.share(1, 3), text.share(1, 0)] == ["33.3 %", "–"]
    assert [text.size(n) for n in (0, 999, 1_000, 999_600, 2_747_282_740)] == [
        "0 bytes", "999 bytes", "1 kB", "1 MB", "2.75 GB",
    ]  # fmt: skip
    assert [text.duration(s) for s in (0, 59.6, 95, 3_600, 3_900, 90_000)] == [
        "0 s", "1 min", "1 min 35 s", "1 h", "1 h 5 min", "1 d 1 h",
    ]  # fmt: skip


def test_times_are_utc_without_saying_so():
    zone = timezone(timedelta(hours=5, minutes=30))
    assert text.naive(datetime(2015, 5, 17, 3, 0, tzinfo=zone)) == datetime(2015, 5, 16, 21, 30)
    assert text.naive(datetime(2015, 5, 17, tzinfo=UTC)) == text.naive(datetime(2015, 5, 17)) == datetime(2015, 5, 17)
