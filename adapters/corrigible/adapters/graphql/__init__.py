"""GraphQL: documents are judged by a schema, and mended node by node."""
