#!/usr/bin/env python3
"""Completions for a shell from the programs' own help, which their tables of options print: the words
that complete are the words that they take.

    make.py bash|zsh|fish TIGHTLINKD TIGHTLINK > FILE    for tightlink
    make.py bash|zsh|fish TIGHTLINKD > FILE              for tightlinkd
"""
import re
import subprocess
import sys

# Options whose value is a file or a folder.
FILES = {"--key", "--keys", "--out", "--save", "--config", "--apply", "--dry-run", "--disk", "--link"}


VALUES = {"--direction": ["download", "upload", "both"], "--color": ["auto", "always", "never"]}


def help_of(*words):
    return subprocess.run([*words, "--help"], check=True, capture_output=True, text=True).stdout


def options_of(text):
    """Option -> what it does, of a help text: those of its first column, also behind a word of history."""
    options = {}
    for words, meaning in re.findall(r"^ {2,6}(\S[^\n]*?)(?:  +(\S[^\n]*))?$", text.partition("Examples:")[0], re.M):
        for option in re.findall(r"--[a-z][a-z0-9-]*", words):
            options.setdefault(option, meaning.strip())
    return options


def words_of(tightlink, name, text):
    """What a command's first argument may be: the words of its help, the names of the paths of demo."""
    words = re.findall(r"^  ([a-z][a-z-]*)\b", text.partition("Examples:")[0], re.M)
    if name == "demo":
        listed = subprocess.run([tightlink, name, "list"], check=True, capture_output=True, text=True).stdout
        words += re.findall(r"^ *([a-z][a-z0-9-]*)  ", listed, re.M)
    return list(dict.fromkeys(words))


def commands(tightlink, tightlinkd):
    """Name -> (what it does, {option: what it does}, [first argument])."""
    found = {}
    overview = help_of(tightlink)
    everywhere = options_of(overview.partition("With every command:")[2])
    assert everywhere, overview
    for name, what in re.findall(r"^  tightlink (\S+) +(\S.*)$", overview, re.M):
        if not re.fullmatch(r"[a-z][a-z-]*", name):
            continue
        if name == "serve":  # becomes tightlinkd
            found[name] = (what.strip(), options_of(help_of(tightlinkd)), [])
        else:
            text = help_of(tightlink, name)
            found[name] = (what.strip(), {**options_of(text), **everywhere}, words_of(tightlink, name, text))
    assert len(found) > 10, found
    return found


def bash(table):
    print("# bash completion for tightlink; printed from its help.")
    print("_tightlink() {")
    print("    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}")
    print("    local command=${COMP_WORDS[1]} words=")
    print("    case $previous in")
    print(f"    {'|'.join(sorted(FILES))}) COMPREPLY=($(compgen -f -- \"$current\")); return ;;")
    for option, values in VALUES.items():
        print(f"    {option}) COMPREPLY=($(compgen -W \"{' '.join(values)}\" -- \"$current\")); return ;;")
    print("    esac")
    print("    if [ \"$COMP_CWORD\" -eq 1 ]; then")
    print(f"        words=\"{' '.join(table)}\"")
    print("    else")
    print("        case $command in")
    for name, (_, options, words) in table.items():
        first = f"; [ \"$COMP_CWORD\" -gt 2 ] || words+=\" {' '.join(words)}\"" if words else ""
        print(f"        {name}) words=\"{' '.join(options)}\"{first} ;;")
    print("        esac")
    print("    fi")
    print("    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))")
    print("    if [ ${#COMPREPLY[@]} -eq 0 ] && [[ $current != -* ]]; then")
    print("        COMPREPLY=($(compgen -f -A hostname -- \"$current\"))")
    print("    fi")
    print("}")
    print("complete -o filenames -F _tightlink tightlink")


def quoted(text):
    return text.replace("'", "'\\''").replace("[", "(").replace("]", ")").replace(":", "\\:")


def zsh(table):
    print("#compdef tightlink\n# zsh completion for tightlink; printed from its help.")
    print("_tightlink() {\n    local -a commands options\n    commands=(")
    for name, (what, _, _) in table.items():
        print(f"        '{name}:{quoted(what)}'")
    print("    )\n    case $words[CURRENT-1] in")
    for option, values in VALUES.items():
        print(f"    {option}) compadd {' '.join(values)}; return ;;")
    print("    esac\n    if (( CURRENT == 2 )); then")
    print("        _describe command commands; _hosts; return\n    fi\n    case $words[2] in")
    for name, (_, options, words) in table.items():
        print(f"    {name}) (( CURRENT > 3 )) || compadd {' '.join(words)}" if words else f"    {name})")
        print("        options=(")
        for option, meaning in options.items():
            print(f"        '{option}:{quoted(meaning)}'")
        print("    ) ;;")
    print("    esac\n    [[ $PREFIX == -* ]] && _describe option options || _files\n}")
    print("_tightlink \"$@\"")


def fish(table):
    print("# fish completion for tightlink; printed from its help.")
    for name, (what, options, words) in table.items():
        what = what.replace("'", "\\'")
        print(f"complete -c tightlink -n __fish_use_subcommand -a {name} -d '{what}'")
        if words:
            print(f"complete -c tightlink -n '__fish_seen_subcommand_from {name}; "
                  f"and test (count (commandline -opc)) -eq 2' -a '{' '.join(words)}'")
        for option, meaning in options.items():
            meaning = meaning.replace("'", "\\'")
            value = " -r -F" if option in FILES else \
                f" -x -a '{' '.join(VALUES[option])}'" if option in VALUES else ""
            print(f"complete -c tightlink -n '__fish_seen_subcommand_from {name}' "
                  f"-l {option[2:]}{value} -d '{meaning}'")


def bash_responder(options):
    print("# bash completion for tightlinkd; printed from its help.")
    print("_tightlinkd() {")
    print("    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}")
    print(f"    case $previous in {'|'.join(sorted(FILES & set(options)))})")
    print("        COMPREPLY=($(compgen -f -- \"$current\")); return ;;")
    print("    esac")
    print(f"    COMPREPLY=($(compgen -W \"{' '.join(options)}\" -- \"$current\"))")
    print("}")
    print("complete -o filenames -F _tightlinkd tightlinkd")


def zsh_responder(options):
    print("#compdef tightlinkd\n# zsh completion for tightlinkd; printed from its help.")
    print("_arguments \\")
    for option, meaning in options.items():
        print(f"    '{option}[{quoted(meaning)}]{':file:_files' if option in FILES else ''}' \\")
    print("    '*:file:_files'")


def fish_responder(options):
    print("# fish completion for tightlinkd; printed from its help.")
    for option, meaning in options.items():
        meaning = meaning.replace("'", "\\'")
        print(f"complete -c tightlinkd -l {option[2:]}{' -r -F' if option in FILES else ''} -d '{meaning}'")


def main():
    shells = {"bash": (bash, bash_responder), "zsh": (zsh, zsh_responder), "fish": (fish, fish_responder)}
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in shells:
        sys.exit(__doc__)
    shell, tightlinkd, *tightlink = sys.argv[1:]
    of_person, of_responder = shells[shell]
    if tightlink:
        of_person(commands(*tightlink, tightlinkd))
    else:
        of_responder(options_of(help_of(tightlinkd)))


main()
