"""Record batches and message sets: the bytes that producers send, logs store and consumers read.

For magic 2: `batch` reads and patches headers alone, `record` iterates over records, `builder` makes batches, `control`
the transaction markers, `compression` the codecs. `legacy` and `message_set` read and make the formats of magic 0 and
1, `formats` reads any. `walk` has every rule about records, `assign` prepares produced data for a log, `convert`
converts between formats.
"""
