"""`python -m staticgrad warm`: compile the kernels that are part of the package, once per machine."""

from __future__ import annotations

import argparse


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m staticgrad", description="staticgrad on the command line.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("warm", help="compile the kernels that are part of the package, which programs then find")
    parser.parse_args(arguments)
    from .compiler.warm import warm

    print(warm())


if __name__ == "__main__":
    main()
