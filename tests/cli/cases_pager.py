"""Long output on a terminal goes through a pager, as git's does."""
import os

from harness import case, on_terminal, tightlink

# Says that it ran, and with what.
MARK = 'printf "%s" "<pager $LESS $LV>"; cat'
HELP = "tightlink history"  # in the overview


@case("usage")
def long_output_goes_through_the_pager(machine):
    for arguments in (("help",), ("help", "run"), ("run", "--help"), ("rules", "list"),
                      ("rules", "explain", "capacity"), ("schema",), ("demo", "list"),
                      ("--paginate", "config", "--example"), ("config", "--example", "--paginate")):
        seen, code = on_terminal(machine, *arguments, TIGHTLINK_PAGER=MARK)
        assert code == 0 and seen.startswith("<pager FRX -c>"), (arguments, code, seen[:200])
        assert seen.count("<pager") == 1 and len(seen) > 300, (arguments, seen[:200])
    seen, code = on_terminal(machine, "help", PAGER=MARK, LESS="M")
    assert seen.startswith("<pager M -c>") and code == 0, seen[:200]
    seen, code = on_terminal(machine, "help", PAGER="false", TIGHTLINK_PAGER=MARK)
    assert seen.startswith("<pager") and HELP in seen and code == 0, seen[:200]


@case("usage")
def a_report_keeps_colours_and_width_behind_the_pager(machine):
    saved = os.path.join(os.path.dirname(__file__), "data", "receive-window.json")
    for words, environment, colours in (((), {}, True), (("--color", "never"), {}, False),
                                        ((), {"NO_COLOR": "1"}, False),
                                        (("--color", "always"), {"NO_COLOR": "1"}, True)):
        seen, code = on_terminal(machine, "explain", saved, *words, columns=110,
                                 TIGHTLINK_PAGER=MARK, **environment)
        assert code == 0 and seen.startswith("<pager"), (code, seen[:300])
        assert ("\x1b[" in seen) == colours, (words, environment, seen[:300])
        assert "\N{BOX DRAWINGS LIGHT HORIZONTAL}" * 110 in seen, "as wide as the terminal"
    for command in (("show", saved), ("why", saved), ("why-not", "policer", saved),
                    ("compare", saved, saved), ("export", saved)):
        seen, code = on_terminal(machine, *command, TIGHTLINK_PAGER=MARK, TERM="dumb")
        assert code in (0, 4) and seen.count("<pager") == 1, (command, code, seen[:300])


@case("usage")
def help_is_broken_between_words(machine):
    """Of a line that a terminal cuts in the middle of a word nobody reads the rest."""
    for name in ("run", "history", "pcap", "between", "config"):
        plain = tightlink(machine, name, "--help").check(0).out
        for columns in (60, 80):
            seen, code = on_terminal(machine, name, "--help", columns=columns, TIGHTLINK_PAGER="cat")
            assert code == 0 and seen.split() == plain.split(), (name, seen)
            text = seen.split("Examples:")[0]  # those stay whole, to be copied
            long = [line for line in text.splitlines() if len(line.rstrip()) > columns]
            assert not long, (name, columns, long)


@case("usage")
def no_pager_where_none_is_wanted(machine):
    plain = tightlink(machine, "help", env={**os.environ, "TIGHTLINK_PAGER": MARK}).check(0).out
    assert HELP in plain and "<pager" not in plain, plain
    for arguments, environment in ((("--no-pager", "help"), {"PAGER": MARK}),
                                   (("help", "--no-pager"), {"PAGER": MARK}),
                                   (("help",), {"PAGER": "cat"}), (("help",), {"PAGER": ""}),
                                   (("help",), {"TIGHTLINK_PAGER": "", "PAGER": MARK}),
                                   (("help",), {"TERM": "dumb"}),
                                   (("config", "--example"), {"PAGER": MARK})):
        seen, code = on_terminal(machine, *arguments, **environment)
        assert code == 0 and "<pager" not in seen and "tightlink" in seen, (arguments, seen)
    # What follows -- is another program's.
    seen, code = on_terminal(machine, "mover", "--no-history", "--", "echo", "--no-pager", "--json")
    assert "--no-pager --json" in seen, seen


@case("usage")
def a_pager_that_is_left_or_cannot_be_run(machine):
    seen, code = on_terminal(machine, "schema", PAGER="head -n 1")
    assert seen == "{\n" and code == 0, (code, seen)
    seen, code = on_terminal(machine, "help", PAGER="/nowhere/pager")
    assert HELP in seen and "the pager /nowhere/pager cannot be run: No such file" in seen, seen
    assert code == 0, code
    seen, code = on_terminal(machine, "help", PAGER="/nowhere/pager -x")
    assert "could not be run; --no-pager" in seen and code == 6, (code, seen)
    seen, code = on_terminal(machine, "rules", "explain", "nothing", PAGER=MARK)
    assert code == 2 and "no rule or cause is called" in seen, (code, seen)
