"""The APIs that episodes run against: how each is started, called and made reproducible."""
