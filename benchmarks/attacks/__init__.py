"""What an attacker on the network tries, each kind in a module that runs by itself, beside Kafka with `--kafka`."""
