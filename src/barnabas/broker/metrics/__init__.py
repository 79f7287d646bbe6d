"""What can be seen of a running broker from outside: its figures, its health."""
