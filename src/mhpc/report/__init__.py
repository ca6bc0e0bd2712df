"""Reports: facts first, rendering second."""
