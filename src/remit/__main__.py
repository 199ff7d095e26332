"""`python -m remit`."""

from remit.cli.main import main

if __name__ == "__main__":
    main()
