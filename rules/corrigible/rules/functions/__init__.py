"""What expressions may call: pure functions of plain JSON values."""
