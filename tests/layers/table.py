"""Which layer may look at which: the one table of the layer tests (doc/architecture.md draws it).

The engine is cut into rooms; "engine/client" stands for a room. A layer above names the rooms
that it may use, and never more than their public headers.
"""
import pathlib

WIRE, DISK, TCP, UDP, PATH, CLIENT, FOREIGN, RESPONDER = (
    f"engine/{room}" for room in ("wire", "disk", "tcp", "udp", "path", "client", "foreign", "responder"))
ENDS = {PATH, UDP, TCP, DISK, WIRE, "host", "base"}  # what both ends stand on
NEAR = {FOREIGN, CLIENT, *ENDS}

ALLOWED = {
    "base": set(),
    "facts": {"base"},
    "host": {"base"},
    WIRE: {"host", "base"},
    DISK: {WIRE, "host", "base"},
    TCP: {DISK, WIRE, "host", "base"},
    UDP: {WIRE, "host", "base"},
    PATH: {TCP, DISK, WIRE, "host", "base"},
    CLIENT: ENDS,
    FOREIGN: {CLIENT, *ENDS},
    RESPONDER: ENDS,
    "flow": {"host", "base"},
    "probes": {*NEAR, "flow", "facts"},
    "rules": {"facts", "base"},
    "session": {"probes", "rules", "facts", "base"},
    "document": {"rules", "facts", "base"},
    "present": {"document", "rules", "facts", "base"},
    "store": {"document", "facts", "base"},
    "ticket": {"document", "store", "base"},
    "fix": {"base"},
    "lab": {"base"},
    "app": {"session", "probes", "flow", "present", "document", "store", "ticket", "fix", "lab", "rules", "facts", "base"},
    "tui": {"app", "session", "present", "document", "store", "ticket", "rules", "facts", "base"},
    "cli": {"tui", "app", "session", "present", "document", "fix", "store", "ticket", "lab", "rules",
            "facts", "base"},
    "responder": {RESPONDER, *ENDS},
    "capture": set(),
}


def layer_of(path):
    """Of src/<layer>/… or include/<layer>/…; a room counts as a layer."""
    parts = pathlib.PurePath(path).parts
    return "/".join(parts[1:3]) if parts[1] == "engine" else parts[1]


def include_roots(root):
    """Layer -> the folder whose headers others may see."""
    roots = {}
    for folder in sorted((root / "include").glob("*")):
        if folder.name == "engine":
            roots.update({f"engine/{room.name}": room for room in sorted(folder.iterdir())})
        else:
            roots[folder.name] = folder
    return roots


def public_headers(root):
    """Name as it is included -> layer."""
    return {str(header.relative_to(folder)): layer
            for layer, folder in include_roots(root).items()
            for header in sorted((*folder.rglob("*.h"), *folder.rglob("*.def")))}
