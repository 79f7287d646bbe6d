"""The controller: the one broker that elects leaders, and creates and deletes topics.

A single broker is a cluster of one: it is elected, and sends itself the same requests.
"""
