"""What Barnabas costs, measured; see README.md."""
