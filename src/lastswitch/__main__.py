"""``python -m lastswitch``: the command line, where its script is not on the path."""

from lastswitch.cli import entry

if __name__ == "__main__":
    entry()
