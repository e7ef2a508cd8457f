"""Profiles that are judged by their vectors: problem+json, recipe, GraphQL, MCP."""
