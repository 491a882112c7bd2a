#!/usr/bin/env python3
"""Kills SQLite's shell in the midst of transactions on a volume of joulio's, over and over.

    kill.py EXTENSION DISK ROUNDS [SEED]

The shell inserts rows, each a transaction of its own, and prints each when SQLite has acknowledged it. After a
number of them that is drawn it is killed with SIGKILL. The next shell has to find every acknowledged row as it was
written, at most as many more as the shell had been given ahead (AHEAD), and a database that PRAGMA integrity_check
finds nothing wrong with. It says how long that shell took, from its start to its first answer, and fails where it took
more than a second of CPU time: not of time, as other programs may have the CPUs meanwhile.
"""
import hashlib
import random
import resource
import statistics
import subprocess
import sys
import time

# Without what a user has in ~/.sqliterc.
SHELL = ["sqlite3", "-init", "/dev/null"]
MODES = ("delete", "truncate", "persist", "wal")
# Rows that the shell is given before they are acknowledged, so that the kill comes in the midst of something.
AHEAD = 40
# CPU time that a shell may take to open the database after a kill.
CPU_SECONDS_MAX = 1


def open_lines(extension, disk, more=""):
    uri = f"file:killed.db?vfs=joulio&device=emulated:instant,file={disk}&allow_write=1{more}"
    return f".bail on\n.load {extension}\n.open '{uri}'\n"


def value(row):
    """What row number `row` holds: up to some pages, by its number alone."""
    digest = hashlib.sha256(str(row).encode()).hexdigest()
    return digest * (1 + row * row % 97)


def shell(lines):
    run = subprocess.run(SHELL, input=lines, capture_output=True, text=True, check=False)
    if run.returncode or run.stderr:
        sys.exit(f"sqlite3 says: {run.stderr}")
    return run.stdout.splitlines()


def insert_until_killed(extension, disk, mode, first, count):
    """Inserts from `first` on, and kills the shell after `count` rows were acknowledged; the last of them."""
    opened = open_lines(extension, disk) + f"pragma journal_mode={mode};\npragma synchronous=full;\n"
    with subprocess.Popen(SHELL, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        acknowledged = first - 1
        rows = iter(range(first, first + count + AHEAD))
        process.stdin.write(opened)
        for _ in range(AHEAD):
            put(process, next(rows))
        process.stdin.flush()
        for line in process.stdout:
            if not line.startswith("row "):
                continue
            acknowledged = int(line.split()[1])
            if acknowledged >= first + count - 1:
                break
            put(process, next(rows))
            process.stdin.flush()
        process.kill()
        # What it had printed before is acknowledged too.
        for line in process.stdout:
            if line.startswith("row ") and line.endswith("\n"):
                acknowledged = int(line.split()[1])
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
    return acknowledged


def put(process, row):
    process.stdin.write(f"insert into t values ({row}, '{value(row)}');\nselect 'row ' || {row};\n")


def cpu_seconds():
    """CPU time of the shells that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds_to_open(extension, disk):
    """From the start of a shell until it has opened the volume and the database, and has read from that."""
    begin, cpu_begin = time.monotonic(), cpu_seconds()
    shell(open_lines(extension, disk) + "select id from t limit 1;\n")
    seconds, cpu = time.monotonic() - begin, cpu_seconds() - cpu_begin
    if cpu > CPU_SECONDS_MAX:
        sys.exit(f"the next open took {cpu:.2f} s of CPU time: at most {CPU_SECONDS_MAX} s is allowed")
    return seconds


def check(extension, disk, acknowledged):
    """The number of rows; ends with a message where one is missing, another, or the database damaged."""
    lines = shell(open_lines(extension, disk) + "pragma integrity_check;\nselect id, v from t order by id;\n")
    if lines[0] != "ok":
        sys.exit(f"damaged: {lines[:5]}")
    rows = [line.split("|") for line in lines[1:]]
    for number, (row, text) in enumerate(rows, 1):
        if int(row) != number or text != value(number):
            sys.exit(f"row {number} is not what was written: {row}, {text[:40]}")
    if not acknowledged <= len(rows) <= acknowledged + AHEAD:
        sys.exit(f"{acknowledged} rows were acknowledged, {len(rows)} are there")
    return len(rows)


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    extension, disk, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    drawn = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    made = "create table if not exists t (id integer primary key, v text);\n"
    shell(open_lines(extension, disk, "&format=1") + made)
    rows, opens = 0, []
    for number in range(rounds):
        mode = MODES[number % len(MODES)]
        acknowledged = insert_until_killed(extension, disk, mode, rows + 1, drawn.randint(1, 60))
        opens.append(seconds_to_open(extension, disk))
        rows = check(extension, disk, acknowledged)
        if rows > 2000:
            shell(open_lines(extension, disk) + "delete from t;\nvacuum;\n")
            rows = 0
    usual, longest = (1e3 * seconds for seconds in (statistics.median(opens), max(opens)))
    print(
        f"{rounds} kills, 0 acknowledged rows lost, 0 databases damaged; "
        f"the next open took {usual:.0f} ms, at most {longest:.0f} ms"
    )


if __name__ == "__main__":
    main()
