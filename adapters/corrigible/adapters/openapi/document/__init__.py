"""An OpenAPI description as its author wrote it: files, YAML, `$ref`s, formal validity."""
