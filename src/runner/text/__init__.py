"""Text that others wrote, made safe to show. The bottom of the layers: it imports nothing of ours."""
