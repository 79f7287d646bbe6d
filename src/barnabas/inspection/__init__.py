"""Read-only inspection of log directories, for `barnabas log`.

Reads files of formats v0, v1 and v2 as written by Kafka 0.10 to 2.7 or Barnabas, intact or damaged, also while a broker
has them open.

Source: implementation page, log; log-format facts.
"""
