"""Ids come from the dice that are handed in."""

from random import Random
from uuid import UUID

from barnabas.core.dice import new_uuid, system_dice, uuid_text


def test_a_uuid_is_a_random_one_of_rfc_4122():
    dice = Random(1)
    for _ in range(100):
        value = new_uuid(dice)
        known = UUID(bytes=value)
        assert (known.version, known.variant) == (4, "specified in RFC 4122")
        assert uuid_text(value) == str(known)


def test_the_same_dice_give_the_same_ids():
    assert new_uuid(Random(7)) == new_uuid(Random(7)) != new_uuid(Random(8))


def test_the_systems_dice_never_repeat():
    assert len({new_uuid(system_dice()) for _ in range(100)}) == 100
