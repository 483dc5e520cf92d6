#!/usr/bin/env python3
"""Prints the names of this package's cargo targets of one kind, without those given: `cargo_targets.py bench envoy`."""

import json
import subprocess
import sys


def main():
    kind, without = sys.argv[1], sys.argv[2:]
    text = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version", "1"], check=True, stdout=subprocess.PIPE
    ).stdout
    for target in json.loads(text)["packages"][0]["targets"]:
        if kind in target["kind"] and target["name"] not in without:
            print(target["name"])


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
