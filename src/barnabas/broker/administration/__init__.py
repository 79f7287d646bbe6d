"""Administration: topics and their rules, settings, users, access rules, and the allocation of producer ids."""
