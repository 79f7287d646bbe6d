"""What is said to be a usual batch is one that the walk finds nothing about."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.wire.records.assign import AppendTarget, Assigned, assign_offsets
from barnabas.wire.records.batch import (
    HEADER_BYTES,
    MAGIC,
    Codec,
    read_header,
    set_base_offset,
    set_crc,
    set_leader_epoch,
)
from barnabas.wire.records.precheck import needs_no_walk
from barnabas.wire.records.record_rules import WalkRules
from tests.property.malformed_batches import kinds
from tests.property.test_records_formats import Fields, build, fields

NOW_MS = 1_000
PAYLOADS = [bytes(kind.data) for kind in kinds() if len(kind.data) < 4096]
rule_sets = st.builds(
    WalkRules, st.sampled_from([0, 1 << 40, (1 << 63) - 1]), is_create_time=st.booleans(), is_compacted=st.booleans()
)


@given(fields)
def test_what_a_producer_makes_is_usual(records: list[Fields]) -> None:
    assert needs_no_walk(build(MAGIC, Codec.NONE, records), WalkRules(), NOW_MS)
    assert not needs_no_walk(build(MAGIC, Codec.GZIP, records), WalkRules(), NOW_MS)


@given(
    st.one_of(
        st.binary(max_size=90),
        st.sampled_from(PAYLOADS),
        fields.map(lambda some: bytes(build(MAGIC, Codec.NONE, some))),
    ),
    rule_sets,
    st.data(),
)
def test_a_usual_batch_is_numbered_and_otherwise_kept(data: bytes, rules: WalkRules, noise: st.DataObject) -> None:
    changed = bytearray(data)
    for position in noise.draw(st.lists(st.integers(0, max(len(data) - 1, 0)), max_size=3)):
        changed[position : position + 1] = bytes([noise.draw(st.integers(0, 255))])
    if not needs_no_walk(changed, rules, NOW_MS):
        return
    header = read_header(changed)
    set_crc(changed, 0, len(changed))
    # What the header says besides is the short way's to refuse.
    if header.base_offset or header.is_control or (header.has_producer_id and header.base_sequence < 0):
        return
    expected = bytearray(changed)
    set_base_offset(expected, 0, 70)
    set_leader_epoch(expected, 0, 3)
    assigned = assign_offsets(changed, AppendTarget(MAGIC, None, 1 << 20, 70, 3, rules), NOW_MS)
    assert isinstance(assigned, Assigned)
    assert assigned.data[HEADER_BYTES:] == expected[HEADER_BYTES:]
    assert assigned.last_offset == 70 + header.last_offset_delta
    if rules.is_create_time:
        assert assigned.data == expected
        assert assigned.max_timestamp_ms == header.max_timestamp_ms
