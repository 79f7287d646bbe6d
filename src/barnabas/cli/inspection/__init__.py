"""Looking into log directories from outside, without changing a byte: what `barnabas log` shows.

Everything here reads files of formats v0, v1 and v2 as Kafka 0.10 to 2.7 or Barnabas left them, whole or damaged, with
or without a broker that runs beside it.

Source: implementation page, log; log-format facts.
"""
