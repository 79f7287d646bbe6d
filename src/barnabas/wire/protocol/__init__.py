"""Kafka's wire protocol: headers, API keys, and one generated module of codecs per API.

Everything here is bytes to objects and back; nothing knows a socket, a clock or a log.
"""
