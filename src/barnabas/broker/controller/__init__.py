"""The controller: the one broker that decides who leads which partition, and makes and removes topics.

A single broker is a cluster of one: it is elected, and tells itself what to do by the same requests.
"""
