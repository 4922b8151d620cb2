"""What is needed and what is installed stands in several lists, which agree: the scripts, Debian's
and RPM's packages, the container, and what the README asks of other systems.

    test_lists.py SOURCE-ROOT BUILD-ROOT MESON...
"""
import fnmatch
import json
import pathlib
import re
import subprocess
import sys

# Debian's name: (what rpm's list has, what the README says).
LIBRARIES = {
    "libarchive-dev": ("pkgconfig(libarchive)", "libarchive"),
    "libcurl4-openssl-dev": ("pkgconfig(libcurl)", "libcurl"),
    "libinih-dev": ("pkgconfig(inih)", "inih"),
    "libjson-c-dev": ("pkgconfig(json-c)", "json-c"),
    "libmnl-dev": ("pkgconfig(libmnl)", "libmnl"),
    "libncurses-dev": ("pkgconfig(ncursesw)", "ncursesw"),
    "libnghttp2-dev": ("pkgconfig(libnghttp2)", "nghttp2"),
    "libpcap-dev": ("pkgconfig(libpcap)", "libpcap"),
    "libseccomp-dev": ("pkgconfig(libseccomp)", "libseccomp"),
    "libsqlite3-dev": ("pkgconfig(sqlite3)", "SQLite 3"),
    "libssl-dev": ("pkgconfig(openssl)", "OpenSSL 3"),
    "liburing-dev": ("pkgconfig(liburing)", "liburing"),
    "libwslay-dev": ("wslay-devel", "wslay"),
    "libzstd-dev": ("pkgconfig(libzstd)", "zstd"),
    "zlib1g-dev": ("pkgconfig(zlib)", "zlib"),
}
RESPONDER = {"libmnl-dev", "libseccomp-dev", "libssl-dev"}
# rpm's macros, as they stand for --prefix=/usr.
MACROS = {"_bindir": "usr/bin", "_mandir": "usr/share/man", "_datadir": "usr/share", "_usr": "usr",
          "_unitdir": "usr/lib/systemd/system", "_sysconfdir": "etc"}


def development(text):
    return {word for word in re.findall(r"[a-z0-9.+-]+", text) if word.endswith("-dev")} - {"libc6-dev"}


class Lists:
    def __init__(self, root, build, meson):
        self.packaging = root / "packaging"
        self.readme = (root / "README.md").read_text()
        self.scripts = (root / "scripts/packages.sh").read_text()
        self.spec = (self.packaging / "rpm/tightlink.spec").read_text()
        said = subprocess.run([*meson, "introspect", "--installed", build], check=True,
                              capture_output=True, text=True).stdout
        prefix = json.loads(subprocess.run([*meson, "introspect", "--buildoptions", build], check=True,
                                           capture_output=True, text=True).stdout)
        prefix = next(option["value"] for option in prefix if option["name"] == "prefix")
        # A build tree's prefix is /usr/local, whose etc is its own.
        self.installed = set()
        for place in json.loads(said).values():
            place = str(pathlib.PurePath(place).relative_to(prefix))
            self.installed.add(place if place.startswith("etc/") else "usr/" + place)
        self.faults = []

    def agree(self, what, have, want):
        if have != want:
            self.faults.append(f"{what}: too many {sorted(have - want)}, missing {sorted(want - have)}")

    def needed(self):
        build = re.search(r'build_packages="(.*)"', self.scripts)[1]
        self.agree("this test's own table", set(LIBRARIES), development(build))
        control = (self.packaging / "debian/control").read_text()
        self.agree("debian/control", development(control.partition("Package:")[0]), set(LIBRARIES))
        container = (self.packaging / "container/Containerfile").read_text()
        self.agree("Containerfile", development(container), RESPONDER)
        needs = set(re.findall(r"(pkgconfig\([\w-]+\)|\w+-devel)", self.spec.partition("%description")[0]))
        self.agree("tightlink.spec", needs, {rpm for rpm, _ in LIBRARIES.values()})
        section = self.readme.partition("## Other systems")[2].partition("\n\n")[2]
        section = section.partition("\n\n")[0].replace("\n", " ")
        for _, name in LIBRARIES.values():
            if not re.search(rf"\b{re.escape(name)}\b", section):
                self.faults.append(f"README.md, Other systems: nothing of {name}")

    def claim(self, what, patterns):
        """Each installed file is in one package's list, and no list names what is not installed."""
        for name in sorted(self.installed):
            owners = [p for p in patterns if fnmatch.fnmatch(name, p) or name.startswith(p + "/")]
            if len(owners) != 1:
                self.faults.append(f"{what}: {name} is in {len(owners)} lists")
        for pattern in patterns:
            if not any(fnmatch.fnmatch(n, pattern) or n.startswith(pattern + "/") for n in self.installed):
                self.faults.append(f"{what}: nothing is installed as {pattern}")

    def installs(self):
        # Debian builds with -Dpscheduler=true, whose files are in that package alone.
        debian = [line.split() for file in sorted((self.packaging / "debian").glob("*.install"))
                  if file.name != "tightlink-pscheduler.install"
                  for line in file.read_text().splitlines()]
        self.claim("debian/*.install", [words[0] for words in debian])
        # Where Debian's zsh looks: it is no place for what packages of others install.
        for name, *place in debian:
            if name.startswith("usr/share/zsh/") and place != ["usr/share/zsh/vendor-completions"]:
                self.faults.append(f"debian/*.install: zsh does not find {name}")
        files = self.spec.partition("%files")[2]
        rpm = [re.sub(r"%\{(\w+)\}", lambda m: MACROS[m[1]], line.split()[-1])
               for line in files.splitlines() if re.search(r"%\{_", line) and "%dir" not in line]
        self.claim("tightlink.spec", rpm)

    def documents(self):
        """Documents that packages take are there; those of Debian and RPM are the same."""
        debian = {line for file in (self.packaging / "debian").glob("*.docs")
                  for line in file.read_text().split()}
        rpm = {word for line in re.findall(r"^%doc (.*)$", self.spec, re.M) for word in line.split()}
        self.agree("%doc of tightlink.spec", rpm - {"doc/examples"}, debian)
        for name in debian:
            if not (self.packaging.parent / name).is_file():
                self.faults.append(f"debian/*.docs: there is no {name}")

    def version(self):
        """One number wherever a release says its own (packaging/README.md)."""
        root = self.packaging.parent
        want = re.search(r"version: '([\d.]+)'", (root / "meson.build").read_text())[1]
        said = {"CHANGELOG.md": (root / "CHANGELOG.md", r"^## ([\d.]+)"),
                "debian/changelog": (self.packaging / "debian/changelog", r"^tightlink \(([\d.]+)"),
                "tightlink.spec": (self.packaging / "rpm/tightlink.spec", r"^Version: +([\d.]+)"),
                "AppStream": (next(self.packaging.glob("desktop/*.metainfo.xml")),
                              r'<release version="([\d.]+)"')}
        for what, (path, pattern) in said.items():
            found = re.search(pattern, path.read_text(), re.M)
            if not found or found[1].rstrip(".") != want:
                self.faults.append(f"{what} says {found and found[1]}, meson.build {want}")


def main():
    root, build, *meson = sys.argv[1:]
    lists = Lists(pathlib.Path(root), build, meson)
    assert len(lists.installed) > 15, lists.installed
    lists.needed()
    lists.installs()
    lists.documents()
    lists.version()
    print("\n".join(lists.faults))
    print(f"{len(LIBRARIES)} libraries, {len(lists.installed)} files, {len(lists.faults)} disagreements")
    sys.exit(bool(lists.faults))


main()
