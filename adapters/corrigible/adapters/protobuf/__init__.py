"""Protobuf descriptions: what services take and give, and where a message breaks what is said of it."""
