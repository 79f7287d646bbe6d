"""Log compaction: retains the newest record of each key and removes the older ones.

A round cleans one log. `candidates` chooses the log and the offset range, `offset_map` stores the newest offset of each
key in the dirty part, `grouping` puts segments together, `rewrite` writes each group's retained batches into
`.cleaned` files, and `swap` replaces the old segments by these files. `round` has the steps of one round; `cleaner`
runs them. Choosing and swapping run on the event loop, the other steps in the cleaner's threads.

Source: design page, log compaction; log-format facts, cleaner.
"""
