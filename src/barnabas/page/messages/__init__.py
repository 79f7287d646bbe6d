"""Content of records: read, masked, decoded, searched.

json_text    untrusted JSON, of bounded depth
masks        hidden parts of a topic's records
decoding     bytes as text
reading      records of a partition, with the outcome of their transactions
rows         a record as displayed
conditions   on fields of JSON
criteria     the criteria of a search, with a quick test on bytes, without parsing
searcher     the process that checks the records of a search
search       searches and their progress
tail         the newest records, live
state        shared by all windows: masks, limits, searches, tails
"""
