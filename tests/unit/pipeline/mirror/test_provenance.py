from barnabas.pipeline.mirror.provenance import PROVENANCE, Provenance

WAY = Provenance("west", "east")


def test_a_record_without_headers_gets_its_origin():
    assert WAY.alone == [(PROVENANCE, b"west")]
    assert WAY.extended([]) == [(PROVENANCE, b"west")]


def test_other_headers_stay_as_they_are_and_in_order():
    headers = [("a", b"1"), ("b", None), ("a", b"")]
    assert WAY.extended(headers) == [*headers, (PROVENANCE, b"west")]


def test_a_record_of_another_mirror_is_extended_at_its_place():
    headers = [("a", b"1"), (PROVENANCE, b"north,south"), ("b", None)]
    assert WAY.extended(headers) == [("a", b"1"), (PROVENANCE, b"north,south,west"), ("b", None)]


def test_a_record_that_has_been_in_the_target_is_left_out():
    assert WAY.extended([(PROVENANCE, b"east")]) is None
    assert WAY.extended([("a", b""), (PROVENANCE, b"north,east,south")]) is None
    # Another cluster's id may have it as a part.
    assert WAY.extended([(PROVENANCE, b"northeast")]) == [(PROVENANCE, b"northeast,west")]


def test_a_header_of_that_name_without_a_value_says_nothing():
    assert WAY.extended([(PROVENANCE, None)]) == [(PROVENANCE, b"west")]
