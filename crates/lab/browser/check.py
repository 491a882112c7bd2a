#!/usr/bin/env python3
"""Opens reports of `joulio lab report` as people do, and says what is wrong with them.

    check.py FOLDER... [--pictures FOLDER]

Each FOLDER has report.html and report.json. Status 1 if something is wrong.
"""

import argparse
import json
import pathlib
import sys

from browser import Browser

# Widths of a telephone and of a desktop, in light and in dark.
VIEWS = [("phone", 390, False), ("phone-dark", 390, True), ("desktop", 1280, False), ("desktop-dark", 1280, True)]

PAGE = (pathlib.Path(__file__).parent / "page.js").read_text()


def wanted(report):
    """Ids of the tables and figures that have data, and the number of drawings of each."""
    for experiment in report["experiments"]:
        for part in experiment["sets"]:
            prefix = f"{experiment['name']}-{part['platform']}"
            for table in part["tables"]:
                yield f"{prefix}-{table['id']}", 0, table["problem"]
            for figure in part["figures"]:
                yield f"{prefix}-{figure['id']}", len(figure["panels"]), figure["problem"]


def view(folder, name, width, dark, pictures):
    """What is wrong with the report of a folder in one view."""
    report = json.loads((folder / "report.json").read_text())
    wrong = []
    with Browser(width, dark=dark) as browser:
        browser.open(folder.resolve() / "report.html")
        wrong += [f"console: {message}" for message in browser.messages()]
        strange = [url for url in browser.requests() if not url.startswith(("file://", "data:"))]
        wrong += [f"asked for {url}" for url in strange]
        items = [list(item) for item in wanted(report)]
        wrong += browser.run(PAGE + "\nreturn problems(arguments[0]);", items)
        wrong += browser.run(PAGE + "\nreturn sliders();")
        wrong += [f"on paper: {what}" for what in browser.on_paper(".sliders, nav, .download")]
        if not browser.print().startswith(b"%PDF"):
            wrong.append("it cannot be printed")
        if pictures:
            pictures.mkdir(parents=True, exist_ok=True)
            browser.picture(pictures / f"{folder.resolve().name}-{name}.png")
    return [f"{folder}: {name}: {what}" for what in wrong]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="+", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path)
    arguments = parser.parse_args()
    wrong = []
    for folder in arguments.folder:
        for name, width, dark in VIEWS:
            wrong += view(folder, name, width, dark, arguments.pictures)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len(arguments.folder)} report(s) in {len(VIEWS)} views: {len(wrong)} thing(s) wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
