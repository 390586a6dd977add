"""``python -m lastswitch``, and the installed script: the command line, loaded quietly."""

import sys


def entry() -> None:
    """Load the command line and run it; Ctrl-C while it loads is one line, as it is later."""
    try:
        from lastswitch.cli import entry as run
    except KeyboardInterrupt:
        sys.stderr.write("lastswitch: interrupted.\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    entry()
