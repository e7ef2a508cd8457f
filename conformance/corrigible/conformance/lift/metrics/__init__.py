"""What the episodes of a log come to. Pure: a log goes in, figures come out; every estimate is `statistics`'s."""
