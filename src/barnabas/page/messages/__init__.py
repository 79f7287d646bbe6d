"""What records say: read, masked, decoded, searched.

json_text    JSON of strangers, of bounded depth
masks        what nobody may see of a topic's records
decoding     bytes as text
reading      records of a partition, with what became of their transactions
rows         a record as it is shown
conditions   on fields of JSON
raw_fields   whether one may hold, by bytes that are not parsed
wanted       what a search wants
searcher     the process that looks through what a search reads
search       searches, and how far they are
tail         the last records as they come
desk         what all windows share: masks, limits, searches, tails
"""
