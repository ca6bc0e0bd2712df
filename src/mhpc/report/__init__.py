"""Facts first, rendering second."""
