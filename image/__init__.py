"""What makes the images small, and what proves that they still work."""
