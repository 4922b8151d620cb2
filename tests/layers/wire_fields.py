"""Fields of the wire's messages, and which of them nobody reads who gets the message: what is only
sent costs bytes and a promise, and tells nobody anything. Used by unread.py."""
import re

# A message's table (wire_layout.h): "#define MSG name", rows of KIND(member, ...), "#undef MSG".
TABLE = re.compile(r"^#define MSG (\w+)\n(.*?)^#undef MSG", flags=re.M | re.S)
ROW = re.compile(r"^    (?:UINT|INT|ANY|TIME|LIMITED|RATE|FLAGS?|BYTES|TEXT|NAME|REST)\((\w+),", flags=re.M)
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\}", flags=re.M | re.S)


def holders(message, inside):
    """The message's struct, and all that have it inside."""
    names, grown = set(), {message}
    while grown:
        names |= grown
        grown = {name for name, members in inside.items() if members & grown} - names
    return names


def unread(root):
    """(number of fields, "message.member" of those that no file reads which has the message)."""
    texts = {path: path.read_text() for folder in ("src", "include")
             for path in (root / folder).rglob("*.[ch]")}
    inside = {name: set(re.findall(r"struct (\w+) [^*]", body))
              for text in texts.values() for name, body in STRUCT.findall(text)}
    others = [(set(re.findall(r"struct (\w+)", text)), set(re.findall(r"(?:->|\.)(\w+)\b(?!\s*=[^=])", text)))
              for path, text in texts.items() if "engine/wire" not in str(path)]
    count, found = 0, set()
    for path, text in texts.items():
        for message, body in TABLE.findall(text) if "engine/wire" in str(path) else ():
            names = holders(message, inside)
            read = set().union(*(members for structs, members in others if structs & names))
            fields = ROW.findall(body)
            count += len(fields)
            found |= {f"{message}.{member}" for member in fields if member not in read}
    return count, found
