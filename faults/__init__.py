"""Ways to hurt a running stack, each with its way back."""
