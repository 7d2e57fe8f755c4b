"""What may be said."""
