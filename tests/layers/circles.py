#!/usr/bin/env python3
"""Whether files need one another in a circle: of each two, at most one calls or reads what the other
exports, directly or by way of others.

    circles.py SOURCE-ROOT BUILD-ROOT

Who needs whom is read from the objects of a build (nm); generated files have no place."""
import pathlib
import sys

from unused import source_of, symbols


def needs(root, build):
    """source -> the sources whose symbols its object needs."""
    defined, needed = symbols(build / "src")
    graph = {}
    for name, users in needed.items():
        to = name in defined and source_of(defined[name], root, build)
        for user in users if to else ():
            source = source_of(user, root, build)
            if source and source != to:
                graph.setdefault(source, set()).add(to)
    return graph


def reached(graph, start):
    seen, left = set(), [start]
    while left:
        for source in graph.get(left.pop(), ()):
            if source not in seen:
                seen.add(source)
                left.append(source)
    return seen


def circles(graph):
    """Sets of sources each of which reaches all others of its set."""
    reach = {source: reached(graph, source) for source in graph}
    left = {source for source in graph if source in reach[source]}
    while left:
        first = min(left)
        circle = {source for source in left if source in reach[first] and first in reach[source]}
        left -= circle
        yield sorted(circle)


def main():
    root, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    found = list(circles(needs(root, build)))
    for circle in found:
        print("a circle: " + ", ".join(str(source.relative_to(root)) for source in circle))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
