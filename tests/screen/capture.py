#!/usr/bin/env python3
"""Puts the golden screens into doc/screens.md: capture.py SOURCE-ROOT writes the file anew,
capture.py --check SOURCE-ROOT tells whether it is up to date."""
import pathlib
import re
import sys

HEAD = """# Screens

`tightlink` opens the start screen, `tightlink HOST` the same with the far end filled in,
`tightlink show FILE` a saved run. Where standard input or output is no terminal, with
`TERM=dumb`, with `--json`, `--json-lines` or `--dry-run`, and in a build with
`-Dtui=disabled`, `tightlink HOST` is `tightlink run HOST` instead.

- Marks carry the meaning, colour only repeats it: `(!)` limits, `ok`, `--` not tested,
  `(?)` cannot tell, `(x)` failed. `NO_COLOR` and `--color=auto|always|never` are honoured.
- Plots are braille in a UTF-8 locale, blocks on the kernel's console, else ASCII.
- Below 60 columns or 15 rows each screen is one column with its keys below it: the verdict with
  its fix, the list of runs or routers, how far the run is. Names that are too long lose their middle.
- What is not known is shown as `-` with its reason where there is room, never as 0.
- From the verdict: `x` explains it simply, again for an engineer; `w` lists every other cause
  and why it is not the one, `n` goes through those that were found too, `v` tries the fix in
  tightlink's own sockets and sets prediction against result; of a kept run it asks before it
  connects.
- `Enter` on a stage shows its samples with a cursor and what the stage measured; a kept run has
  its readings too. `Enter` on a router shows all that is known of it.
- Every run is kept; the history opens them again, judged by the rules of today, compares two that
  `a` and `b` mark, draws the rates of a far end over its runs (logarithmic where they lie far apart),
  and keeps notes and tags.
- Lists call a cause by a name that people have ("receive buffer"); its id (`receive-window`) stands
  below the history's list, on the page that `n` opens, beside the name where a list of the command
  line has room, and in JSON. `history --cause` and filters take both.
- Export shows word for word what would leave and which values are masked (`M`); only then `s`
  saves a file of the user's alone, `y` sends it to the clipboard, or, where `t` has chosen a system of
  `tightlink.conf` (doc/tickets.md), Enter and a `y` make a ticket of it, `#` adds it to one and `P`
  shows the requests. The screen goes on meanwhile; the answer has the ticket's address, and what
  could not be sent waits in the outbox.
- `^W` on the start screen, or `7`, shows the transfers that other programs run now (doc/live.md), the
  one that is held up most first; `Enter` shows one over time and, again, its whole verdict; `r`
  diagnoses the way to its far end after a question, `c` captures its headers after another, `e`
  exports its verdict.
- `tightlink pcap FILE` shows a capture's connections, the largest first or (`Space`) the one that was
  held back longest; `Enter` shows one over time, `g` its time-sequence graphs, up and down go nearer
  to the cursor and back, and `Enter` again is its whole verdict (doc/captures.md).
- While it runs `S` leaves the running stage out, `r` does the selected one once more, and `+` gives
  another budget; more than was agreed to asks first.
- F1 is help, F10 and `q` leave, `Esc` steps back: a filter, marks or a text field go first. A key means the same
  on every screen: one table (`tui/keymap.c`, and beside each handler what is taken there) is what
  takes keys, draws the footer and writes help, which scrolls. A key that a place has not says so.
- "copy fix" is offered where there is one for this PC, "copy request" where others must act, "try it"
  where the program can try it and the path is still there.
- `q` asks before it ends a running diagnosis; `^C` stops it and keeps what it has. SIGTERM and
  SIGHUP do the same and leave. After leaving, the verdict is printed as text.
- `y` sends the fix to the clipboard with OSC 52 and shows it, as it can be sent: a command for another
  host with the place where it is to be run, of a request its sentence; not all terminals take it.
- `^K` on the start screen chooses the key for a far end that wants one: of `--key FILE`, else of
  `~/.config/tightlink/keys`, where that is.
- `s` in the history writes the two marked runs side by side into a file, masked.
- The mouse, where the terminal has one: the wheel scrolls, a click selects a row, another on it is
  Enter, and tabs, key hints and answers can be clicked; selecting text with shift stays the
  terminal's. `--no-mouse`, or `TIGHTLINK_NO_MOUSE=1`, leaves it alone; all of it has keys too.
- `tightlink demo` shows its run on the screen, and prints verdict and truth after it was left;
  `--no-screen` prints them at once.
- Every text passes the sanitiser of `base/utf8` on its way into a cell.

The views (`src/tui/view*.c`) turn a state into a grid of cells and know no terminal;
`terminal.c` alone knows curses; `screen.c` is the event loop, `actions.c` does what keys ask. The pictures below are golden
files of `tests/screen`, driven by scripted keys; their numbers are made up and agree with one
another. `tests/screen/capture.py` puts them here.
"""
PICTURES = [
    ("start", "Start", "80x24"), ("start-recent", "Start, far ends of earlier runs", "60x15"), ("consent-first", "The question before anything is sent", "80x24"),
    ("run", "Run", "80x24"), ("run", "Run, wide", "120x40"),
    ("budget", "Run, another budget", "60x15"), ("stage", "One stage, with a cursor", "80x24"),
    ("verdict", "Verdict", "80x24"), ("fix", "Verdict, after f", "80x24"),
    ("verdict-live", "Verdict, wide", "120x40"),
    ("verdict", "Verdict, on a very small terminal", "40x10"),
    ("simple", "Explained simply", "80x24"), ("engineer", "Explained for an engineer", "80x24"),
    ("causes", "Why not the others", "80x24"), ("verify", "Prediction against result", "80x24"),
    ("inconclusive", "Nothing found", "80x24"), ("path", "Path", "80x24"),
    ("path-chart", "Path, wide, with a chart", "120x40"), ("hop", "One hop", "80x24"),
    ("history", "History", "80x24"), ("history", "History, wide", "120x40"),
    ("history-compare", "Two runs side by side", "80x24"), ("export", "Export", "80x24"),
    ("ticket", "Export to a ticket system", "80x24"), ("ticket-ask", "Before it is sent", "80x24"),
    ("ticket-sent", "The ticket's address", "80x24"), ("watch", "Transfers that run now", "80x24"),
    ("watch", "Transfers that run now, wide", "120x40"), ("watch-one", "One of them over time", "80x24"),
    ("masks", "What an export masks", "80x24"), ("help", "Help", "80x24"),
]


def picture(golden, size):
    parts = re.split(r"^=== (\S+)\n", golden, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))[size].rstrip("\n")


def document(root):
    text = HEAD
    for name, title, size in PICTURES:
        golden = (root / f"tests/screen/golden/{name}.utf8.txt").read_text()
        text += f"\n## {title} ({size})\n\n```\n{picture(golden, size)}\n```\n"
    return text


def main():
    check = sys.argv[1] == "--check"
    root = pathlib.Path(sys.argv[-1])
    path = root / "doc/screens.md"
    text = document(root)
    if not check:
        path.write_text(text)
    elif not path.exists() or path.read_text() != text:
        sys.exit("doc/screens.md is not what the golden files show: run tests/screen/capture.py .")


main()
