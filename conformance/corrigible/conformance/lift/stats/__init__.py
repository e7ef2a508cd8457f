"""Statistics of a log: estimates first, then the figures that are made of them."""
