"""People with and without an account, their addresses and their browsers.

All addresses are in private or documentation ranges: 10/8, 198.51.100/24 and 2001:db8::/32. Abusers have addresses in
the same ranges as honest people.
"""

from dataclasses import dataclass, field

from barnabas.pipeline.sources.social.plan import SitePlan
from barnabas.pipeline.sources.social.random_numbers import pick, seeded, whole

_FIRST_NAMES = """
    anna bert clara david elif farid greta hamid ines jonas kim lena marek nadia omar petra quentin rosa samir
    tilda ugur vera wen xenia yusuf zoe amir bianca carlos daria emil fatma goran hana ivan julia kofi laila
    milan nina
""".split()  # noqa: SIM905  # a list literal takes a line for each word
_WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{0}.0.0.0"
_SYSTEMS = ("Windows NT 10.0; Win64; x64", "X11; Linux x86_64", "Macintosh; Intel Mac OS X 10_15_7")
DESKTOPS = tuple(
    f"Mozilla/5.0 ({system}{shape.format(version)}"
    for shape, versions in (
        (f") {_WEBKIT} Safari/537.36", (124, 126, 128, 130, 131)),
        (f") {_WEBKIT} Safari/537.36 Edg/{{0}}.0.0.0", (128, 131)),
        ("; rv:{0}.0) Gecko/20100101 Firefox/{0}.0", (115, 128, 132)),
    )
    for version in versions
    for system in _SYSTEMS
)
PHONES = tuple(
    f"Mozilla/5.0 (iPhone; CPU iPhone OS {version.replace('.', '_')} like Mac OS X) AppleWebKit/605.1.15 "
    f"(KHTML, like Gecko) Version/{version} Mobile/15E148 Safari/604.1"
    for version in ("17.5", "17.6", "18.1", "18.3")
) + tuple(
    f"Mozilla/5.0 (Linux; Android {system}; K) {_WEBKIT.format(version)} Mobile Safari/537.36"
    for system in (13, 14)
    for version in (126, 128, 130, 131)
)
_PRIVATE_SHARE = 0.04


class Addresses:
    """Assigns addresses, each at most once."""

    def __init__(self, seed: int) -> None:
        self._random = seeded(seed, "addresses")
        self._offset = whole(self._random, 0, 0xFFFFFF)
        self._count = 0
        self._assigned: set[str] = set()

    def next(self) -> str:
        """Return the address of one household or machine."""
        is_new = self._random.random() < 0.3
        while True:
            number = self._number()
            address = (
                f"2001:db8:{number >> 12:x}:{number & 0xFFF:x}::{1 + self._count % 9:x}"
                if is_new
                else f"10.{number >> 16}.{number >> 8 & 0xFF}.{number & 0xFF}"
            )
            if address not in self._assigned:
                self._assigned.add(address)
                return address

    def several(self, count: int) -> list[str]:
        """Return unrelated addresses."""
        return [self.next() for _ in range(count)]

    def neighbours(self, count: int) -> list[str]:
        """Return `count` (at most 200) addresses of one network, like those of rented machines."""
        is_old = self._random.random() < 0.7
        while True:
            number = self._number()
            network = f"10.{number >> 16}.{number >> 8 & 0xFF}." if is_old else f"2001:db8:{number >> 12:x}:a::"
            addresses = [f"{network}{host:d}" for host in range(20, 20 + count)]
            if self._assigned.isdisjoint(addresses):
                self._assigned.update(addresses)
                return addresses

    def _number(self) -> int:
        # Multiplication by an odd number maps the numbers below 2^24 one to one.
        self._count += 1
        return (self._count * 2_654_435_761 + self._offset) & 0xFFFFFF


@dataclass(slots=True)
class Person:
    """A person; `user` is empty without an account.

    Attributes:
        places: Pairs of address and agent, the usual one first.
        is_private: Whether the browser sends no referrer and keeps no cookie.
        is_known: Whether the person has visited the site before.
        followees, voted: Users that the person follows; items that the person has voted for.
    """

    user: str
    places: tuple[tuple[str, str], ...]
    is_private: bool = False
    is_known: bool = False
    followees: list[str] = field(default_factory=list)
    voted: list[str] = field(default_factory=list)


class People:
    """All people of a site, the most active first.

    Each person has a home address. Offices share an address, and so do phones of a mobile carrier.
    """

    def __init__(self, plan: SitePlan, addresses: Addresses) -> None:
        self._random = seeded(plan.seed, "people")
        self._seed = plan.seed
        self._account_count = 0
        self._addresses = addresses
        self._carriers = [f"198.51.100.{host}" for host in range(1, min(250, 4 + plan.users // 100))]
        self._offices = addresses.several(max(2, plan.users // 100))
        self.members = [self._person(self.account()) for _ in range(plan.users)]
        self.guests = [self._person("") for _ in range(3 * plan.users)]

    def account(self) -> str:
        """Return the name of a new account."""
        self._account_count += 1
        number = self._account_count
        return f"{_FIRST_NAMES[(number * 7 + self._seed) % len(_FIRST_NAMES)]}{number}"

    def _person(self, user: str) -> Person:
        random, chance = self._random, self._random.random()
        home, desktop, phone = self._addresses.next(), pick(random, DESKTOPS), pick(random, PHONES)
        at_home, on_the_way = (home, desktop), (pick(random, self._carriers), phone)
        if chance < 0.3:
            places: tuple[tuple[str, str], ...] = (at_home,)
        elif chance < 0.55:
            places = (on_the_way, (home, phone))
        elif chance < 0.8:
            places = (at_home, on_the_way)
        else:
            places = (at_home, (pick(random, self._offices), pick(random, DESKTOPS)), on_the_way)
        return Person(user, places, random.random() < _PRIVATE_SHARE)
