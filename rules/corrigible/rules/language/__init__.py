"""The language of rules: what an author may write, and how it is compiled."""
