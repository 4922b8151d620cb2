#!/usr/bin/env python3
"""A client that has come as far as one state of a session and says nothing more.

    states.py HOST PORT SOURCE STATE    says "here", begins at a line, says "up" when it is there, and
                                        holds on until it is ended
"""
import sys
import time

import wire
from wire import Connection, Session, frame


def half(at):
    return Connection(**at)


def part(at):
    connection = Connection(**at)
    connection.send(wire.hello()[:20])
    return connection


def idle(at):
    return Session(**at)


def ready(at):
    session = Session(**at)
    session.ask()
    return session


def joined(at):
    session = Session(**at)
    session.data = session.open_streams(session.ask())
    return session


def running(at, direction=wire.DOWNLOAD):
    session = Session(**at)
    granted = session.ask(ms=60000, direction=direction)
    session.data = session.open_streams(granted)
    session.start(granted)
    return session


def uploading(at):
    return running(at, wire.UPLOAD)


def data_half(at):
    session = Session(**at)
    session.ask()
    session.data = Connection(**at)
    session.data.send(frame(wire.DATA_HELLO, bytes(32))[:10])
    return session


# The longest that each may hold its places, seconds (P3): the deadline of the first message, or 5 s of
# silence and one in which the reason is told; and what a tick and a busy machine take.
STATES = {half: 3.5, part: 3.5, idle: 6.5, ready: 6.5, joined: 6.5, running: 6.5, uploading: 6.5,
          data_half: 6.5}


def main():
    host, port, source, wanted = sys.argv[1:]
    print("here", flush=True)
    sys.stdin.readline()
    held = {state.__name__: state for state in STATES}[wanted](
        {"host": host, "port": int(port), "source": source})
    print("up", flush=True)
    time.sleep(60)
    del held


if __name__ == "__main__":
    main()
