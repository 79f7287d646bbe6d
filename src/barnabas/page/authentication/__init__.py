"""Access control between browsers and the page: hosts, headers, sessions, tokens, password guesses."""
