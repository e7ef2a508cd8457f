"""Servers of others without a pack: all that is known of them is the description that they give of themselves."""
