"""``python -m mhpc``."""

from mhpc.cli import main

if __name__ == "__main__":
    main()
