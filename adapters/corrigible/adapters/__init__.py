"""What is specific to one API: formats, operations, sandboxes, tasks."""
