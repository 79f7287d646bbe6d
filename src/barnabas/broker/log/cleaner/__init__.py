"""Log compaction: retains the newest record of each key and removes the older ones.

A round cleans one log: `candidates` chooses it and says which offsets, `offset_map` learns the newest offset of each
key in the dirty part, `grouping` puts segments together, `rewrite` writes each group's surviving batches into
`.cleaned` files, and `swap` puts these in place. `round` has the steps of one round, `cleaner` runs them: choosing and
swapping on the event loop, the rest in threads of its own.

Source: design page, log compaction; log-format facts, cleaner.
"""
