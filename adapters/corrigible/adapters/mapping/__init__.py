"""Which operations of APIs do the same: canonical operations, and the mappings between them."""
