"""What stands between a stranger's browser and the page: hosts, headers, sessions, tokens, guesses."""
