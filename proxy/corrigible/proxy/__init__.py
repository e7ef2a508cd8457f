"""The pipeline, its front ends, and the `corrigible` command."""
