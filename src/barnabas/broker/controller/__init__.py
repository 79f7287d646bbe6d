"""The controller: the one broker that elects leaders, and creates and deletes topics.

A single broker is a cluster of one: it is elected controller and sends the same requests to itself.
"""
