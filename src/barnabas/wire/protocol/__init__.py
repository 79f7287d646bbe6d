"""Kafka's wire protocol: headers, API keys, and one generated module of codecs per API.

Everything here converts between bytes and objects, without sockets, clocks or logs.
"""
