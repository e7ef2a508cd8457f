"""The role consumer: a reader under test gets the vectors."""
