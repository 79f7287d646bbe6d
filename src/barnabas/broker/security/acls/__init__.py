"""Access rules (ACLs): what they say, how they are kept in the registry, and what follows from them."""
