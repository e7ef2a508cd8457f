"""What a request breaks of its operation's schemas, and which operation may have been meant."""
