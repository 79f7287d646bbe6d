"""What records say: read, masked, decoded, searched.

json_text    JSON of strangers, of bounded depth
masks        what nobody may see of a topic's records
decoding     bytes as text
reading      records of a partition, with what became of their transactions
rows         a record as it is shown
desk         what all windows share: masks and limits
"""
