"""ssl.principal.mapping.rules; what is expected here is what Kafka 2.7.2's SslPrincipalMapper says."""

import pytest

from barnabas.core.errors import ConfigError
from barnabas.wire.security.tls.principal_mapping import PrincipalMapping

BOB = "CN=Bob,OU=Dev,O=Acme,L=Rome,C=IT"


@pytest.mark.parametrize(
    ("rules", "name", "user"),
    [
        ("DEFAULT", BOB, BOB),
        ("", BOB, None),
        ("RULE:^CN=(.*?),OU=(.*?),.*$/$1@$2/U,DEFAULT", BOB, "BOB@DEV"),
        ("RULE:^CN=(.*?),OU=(.*?),.*$/$1@$2/U,DEFAULT", "CN=x", "CN=x"),
        ("RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L , DEFAULT", BOB, "bob"),
        ("RULE:CN=(.*)/$1\\//", "CN=x", "x/"),
        ("RULE:CN=a\\/b/x/", "CN=a/b", "x"),
        # As Java's replaceAll: the empty rest is found again.
        ("RULE:.*/x/", BOB, "xx"),
        ("RULE:.*/x/", "", "x"),
        # Of the digits as many are meant as make a group that there is.
        ("RULE:CN=(.*)/$12/", "CN=x", "x2"),
        ("RULE:CN=(.*)/a$10b/", "CN=x", "ax0b"),
        ("RULE:CN=(.*)/$3/", "CN=x", "$3"),
        ("RULE:CN=(.*)/\\$1/", "CN=x", "$1"),
        ("RULE:CN=(.*)/$0!/", "CN=x", "CN=x!"),
        ("RULE:((((((((((C))))))))))N=(.*)/$11-$12-$100/", "CN=x", "x-C2-C0"),
        ("RULE:CN=(?<n>[^,]*).*/${n}/L", BOB, "bob"),
        ("RULE:CN=(?<n>.)\\k<n>/${n}/", "CN=aa", "a"),
        ("RULE:CN=(.),OU/$1/,RULE:CN=(.*?),.*/$1/L,RULE:cn=(.*)/$1/", "cn=x", "x"),
        ("RULE:CN=(.),OU/$1/,RULE:CN=(.*?),.*/$1/L,RULE:cn=(.*)/$1/", BOB, "bob"),
        ("RULE:CN=(.),OU/$1/,RULE:CN=(.*?),.*/$1/L,RULE:cn=(.*)/$1/", "CN=x", None),
        # \w is ASCII.
        ("RULE:CN=(\\w+).*/$1/", "CN=Ünï", None),
        ("RULE:(CN=)?(.*)/$1$2/", "x", "x"),
    ],
)
def test_a_name_becomes_a_user(rules, name, user):
    assert PrincipalMapping(rules).user(name) == user


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ("foo", "Invalid rule: `foo`, unmatched substring: `foo`"),
        ("DEFAULT,foo", "Invalid rule: `foo`"),
        ("DEFAULT DEFAULT", "unmatched substring: ` DEFAULT`"),
        ("RULE:(.*)/$1/X", "unmatched substring: `X`"),
        ("RULE:CN=(.*)/$1/LL", "unmatched substring: `L`"),
        ("RULE:CN=(.*)/$1", "Invalid rule"),
        ("RULE:CN=(.*/$1/", "Invalid rule"),
        ("RULE:CN=.*/$1/", "names a group that there is not"),
        ("RULE:CN=.*/$/", "names a group that there is not"),
        ("RULE:CN=(.*)/${n}/", "names a group that there is not"),
        ("RULE:CN=\\p{Alpha}+.*/y/", "bad escape"),
    ],
)
def test_what_is_no_rule_is_refused_when_it_is_set(rules, told):
    with pytest.raises(ConfigError) as refused:
        PrincipalMapping(rules)
    assert told in str(refused.value)
