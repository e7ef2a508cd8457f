"""Protobuf descriptions: the methods of services, and violations of messages."""
