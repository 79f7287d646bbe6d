"""Who vouches for the tokens of OAUTHBEARER: keys for signed ones, or nobody."""
