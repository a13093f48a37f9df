"""What runs leave on disk, the writer beside the reader."""
