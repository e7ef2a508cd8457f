"""What several kinds of checks share: requests that are refused, vectors as messages, comparisons. Holds no check."""
