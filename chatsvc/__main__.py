"""Entry of `python -m chatsvc`, of the command `chatsvc` and of the binary."""

from chatsvc.cli.main import main

if __name__ == "__main__":
    main()
