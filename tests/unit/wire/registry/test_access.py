"""Who may do what with Kafka's nodes."""

import pytest

from barnabas.wire.registry.access import Access, access_of_others


@pytest.mark.parametrize(
    ("path", "access"),
    [
        ("/brokers/ids/0", Access.READ),
        ("/config/topics/t", Access.READ),
        ("/config/changes/config_change_0000000000", Access.READ),
        ("/config/users", Access.NONE),
        ("/config/users/alice/clients/c", Access.NONE),
        ("/config/brokers/0", Access.NONE),
        ("/barnabas/login_secret", Access.NONE),
        ("/delegation_token", Access.READ),
        ("/delegation_token/tokens/x", Access.NONE),
        ("/delegation_token/token_changes", Access.READ),
        ("/consumers", Access.ALL),
        ("/consumers/g/offsets/t/0", Access.READ),
    ],
)
def test_credentials_are_for_brokers_alone_and_old_consumers_may_write(path: str, access: Access) -> None:
    assert access_of_others(path) is access
