"""From files to rows."""
