"""Record batches and message sets: the bytes that producers send, logs keep and consumers read.

`batch` reads and patches headers without looking inside, `record` walks the records, `builder` makes batches,
`control` the transaction markers, `compression` the codecs: all for magic 2. `legacy` and `message_set` read and make
the formats of magic 0 and 1, `formats` takes any. `walk` holds every rule that looks at records, `assign` makes
produced data ready for a log, `convert` turns one format into another.
"""
