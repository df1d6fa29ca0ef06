"""A user's own program in any framework: its epochs, its model or arrays, and its process."""
