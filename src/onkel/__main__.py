"""`python -m onkel` is the command `onkel`."""

from .cli import main

if __name__ == "__main__":
    main(prog_name="onkel")
