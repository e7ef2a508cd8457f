"""Published figures computed again, and compared with what was printed."""
