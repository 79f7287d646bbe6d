"""Record batches: the bytes that producers send, logs keep and consumers read.

`batch` reads and patches headers without looking inside, `record` walks the records, `builder` makes batches,
`control` the transaction markers, `compression` the codecs. Only magic 2 so far.
"""
