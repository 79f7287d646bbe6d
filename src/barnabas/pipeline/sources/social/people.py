"""Who is there: people with accounts and without, their addresses and their browsers.

All addresses are of ranges that belong to nobody: 10/8, the documentation ranges and 2001:db8::/32. Who misbehaves has
addresses of the same ranges as who does not.
"""

from dataclasses import dataclass
from random import Random

from barnabas.pipeline.sources.social.chance import pick, seeded, whole
from barnabas.pipeline.sources.social.plan import SitePlan

_FIRST_NAMES = """
    anna bert clara david elif farid greta hamid ines jonas kim lena marek nadia omar petra quentin rosa samir
    tilda ugur vera wen xenia yusuf zoe amir bianca carlos daria emil fatma goran hana ivan julia kofi laila
    milan nina
""".split()  # noqa: SIM905  # a list of one word a line is three pages long

_CHROME = "Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Safari/537.36"
_FIREFOX = "Mozilla/5.0 ({system}; rv:{version}.0) Gecko/20100101 Firefox/{version}.0"
_EDGE = (
    "Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Safari/537.36 "
    "Edg/{version}.0.0.0"
)
_SYSTEMS = ("Windows NT 10.0; Win64; x64", "X11; Linux x86_64", "Macintosh; Intel Mac OS X 10_15_7")
_PRIVATE_SHARE = 0.04
_PHONES = tuple(
    f"Mozilla/5.0 (iPhone; CPU iPhone OS {system} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    f"Version/{version} Mobile/15E148 Safari/604.1"
    for system, version in (("17_5", "17.5"), ("17_6_1", "17.6"), ("18_1", "18.1"), ("18_3", "18.3"))
) + tuple(
    f"Mozilla/5.0 (Linux; Android {system}; K) AppleWebKit/537.36 (KHTML, like Gecko) "
    f"Chrome/{version}.0.0.0 Mobile Safari/537.36"
    for system in (13, 14)
    for version in (126, 128, 130, 131)
)
_DESKTOPS = tuple(
    shape.format(system=system, version=version)
    for shape, versions in ((_CHROME, (124, 126, 128, 130, 131)), (_FIREFOX, (115, 128, 132)), (_EDGE, (128, 131)))
    for version in versions
    for system in _SYSTEMS
)


def desktop_agent(random: Random) -> str:
    """Return the agent of a browser on a desktop."""
    return pick(random, _DESKTOPS)


def phone_agent(random: Random) -> str:
    """Return the agent of a browser on a phone."""
    return pick(random, _PHONES)


class Addresses:
    """Hands out addresses, each once."""

    def __init__(self, seed: int) -> None:
        self._random = seeded(seed, "addresses")
        self._offset = whole(self._random, 0, 0xFFFFFF)
        self._count = 0
        self._given: set[str] = set()
        self._documentation = [
            f"{network}.{host}" for network in ("203.0.113", "192.0.2") for host in range(254, 0, -1)
        ]

    def next(self) -> str:
        """Return the address of one household or machine."""
        chance = self._random.random()
        if chance < 0.02 and self._documentation:
            return self._documentation.pop()
        while True:
            number = self._number()
            if chance < 0.3:
                address = f"2001:db8:{number >> 12:x}:{number & 0xFFF:x}::{1 + self._count % 9:x}"
            else:
                address = f"10.{number >> 16}.{number >> 8 & 0xFF}.{number & 0xFF}"
            if address not in self._given:
                self._given.add(address)
                return address

    def several(self, count: int) -> list[str]:
        """Return several that have nothing to do with each other."""
        return [self.next() for _ in range(count)]

    def neighbours(self, count: int) -> list[str]:
        """Return up to 200 of one network: a rack of rented machines."""
        is_old = self._random.random() < 0.7
        while True:
            number = self._number()
            network = f"10.{number >> 16}.{number >> 8 & 0xFF}." if is_old else f"2001:db8:{number >> 12:x}:a::"
            addresses = [f"{network}{host:d}" for host in range(20, 20 + count)]
            if self._given.isdisjoint(addresses):
                self._given.update(addresses)
                return addresses

    def _number(self) -> int:
        # An odd factor takes each number below 2^24 to another one.
        self._count += 1
        return (self._count * 2_654_435_761 + self._offset) & 0xFFFFFF


@dataclass(slots=True)
class Person:
    """Somebody: `places` are the pairs of address and agent that they are seen with, the usual one first.

    Who `is_private` has a browser that tells no referrer and keeps no cookie.
    """

    user: str | None
    places: tuple[tuple[str, str], ...]
    is_private: bool = False
    has_been_here: bool = False


class People:
    """All people of a site, the most active first."""

    def __init__(self, plan: SitePlan, addresses: Addresses) -> None:
        """Make them up: homes, mobile carriers with many phones behind an address, offices with one for all."""
        random = seeded(plan.seed, "people")
        self._seed = plan.seed
        self._account_count = 0
        carriers = [f"198.51.100.{host}" for host in range(1, min(250, 4 + plan.users // 100))]
        offices = addresses.several(max(2, plan.users // 100))

        def person(user: str | None) -> Person:
            places = _places(random, addresses, carriers, offices)
            return Person(user, places, is_private=random.random() < _PRIVATE_SHARE)

        self.members = [person(self.account()) for _ in range(plan.users)]
        self.guests = [person(None) for _ in range(3 * plan.users)]

    def account(self) -> str:
        """Return the name of one more account."""
        self._account_count += 1
        number = self._account_count
        return f"{_FIRST_NAMES[(number * 7 + self._seed) % len(_FIRST_NAMES)]}{number}"


def _places(
    random: Random, addresses: Addresses, carriers: list[str], offices: list[str]
) -> tuple[tuple[str, str], ...]:
    chance = random.random()
    phone, desktop = phone_agent(random), desktop_agent(random)
    home = addresses.next()
    if chance < 0.3:
        return ((home, desktop),)
    if chance < 0.55:
        return ((pick(random, carriers), phone), (home, phone))
    if chance < 0.8:
        return ((home, desktop), (pick(random, carriers), phone))
    return ((home, desktop), (pick(random, offices), desktop_agent(random)), (pick(random, carriers), phone))
