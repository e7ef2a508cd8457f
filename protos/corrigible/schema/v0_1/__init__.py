"""The protobuf binding of version 0.1. Import `feedback_pb2` from here only where protobuf is wanted."""
