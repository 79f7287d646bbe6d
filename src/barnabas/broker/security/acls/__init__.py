"""Access rules (ACLs): their meaning, their storage in the registry, and the decisions based on them."""
