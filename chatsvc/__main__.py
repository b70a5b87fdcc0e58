"""Entry point of `python -m chatsvc`, of the command `chatsvc` and of the binary."""

import gc
import sys


def main() -> None:
    """Run the command line."""
    # A command lives for milliseconds: looking for garbage, while it loads and once more at the end, would be a fifth of them. What runs
    # longer, such as an import, reaches the threshold.
    gc.set_threshold(200_000, 10, 10)
    try:
        if sys.argv[1:] == ["read-files"]:
            from chatsvc.file_reader.child import main as run
        elif sys.argv[1:] == ["search-knowledge"]:
            from chatsvc.services.knowledge.knowledge_work import main as run
        else:
            from chatsvc.cli.main import main as run

        run()
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
