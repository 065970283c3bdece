# SPDX-License-Identifier: MIT
"""How each participant is built and called.

prepare(build) gives the command to run, or raises Missing with a sentence for the reader: a peer
that cannot be had is no reason not to measure the others.
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "bench" / "peers"
DEBIAN_GO = "/usr/share/gocode"  # where the golang-*-dev packages put theirs
DEBIAN_CRATES = "/usr/share/cargo/registry"  # where the librust-*-dev packages put their sources


class Missing(Exception):
    pass


def execute(command, **options):
    """Runs a build step; its output is shown only where it fails, and then only the end."""
    done = subprocess.run(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()] or lines
        raise Missing(f"`{' '.join(str(c) for c in command[:3])} ...` failed: {' | '.join(errors[:3])[:400]}")
    return done.stdout


class Build:
    """The build directory. CMake is configured once, on the first program that asks."""

    def __init__(self, directory):
        self.directory = Path(directory).resolve()
        self.peers = self.directory / "peers"
        self._cmake = None
        self._weir_problem = None
        self._shared = {}

    def shared(self, name, make):
        """What several participants use, made once."""
        if name not in self._shared:
            self._shared[name] = make()
        return self._shared[name]

    def cmake_directory(self):
        if self._cmake is None:
            self._cmake = self._configure()
        return self._cmake

    def _configure(self):
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        if (self.directory / "CMakeCache.txt").exists():
            generator = []
        release = ["-DCMAKE_BUILD_TYPE=Release"]
        lean = ["-DWEIR_BUILD_BENCH=ON", "-DWEIR_BUILD_TESTS=OFF", "-DWEIR_BUILD_EXAMPLES=OFF"]
        try:
            execute(["cmake", "-S", ROOT, "-B", self.directory, *generator, *release, *lean])
            return self.directory
        except Missing as problem:
            self._weir_problem = problem
        except FileNotFoundError:
            raise Missing("cmake is not installed (Debian: cmake)") from None
        # The floor and the peers do not depend on Weir: bench/ configures alone.
        alone = self.directory / "bench-alone"
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        execute(["cmake", "-S", ROOT / "bench", "-B", alone, *generator, *release])
        return alone

    def cmake_program(self, target, needs, name=""):
        """`name`: of the file, if it is not that of the target."""
        directory = self.cmake_directory()
        listed = execute(["cmake", "--build", directory, "--target", "help"])
        if target not in listed:
            why = f"; {self._weir_problem}" if self._weir_problem else ""
            raise Missing(f"no target {target}: needs {needs or 'a C++20 compiler'}{why}")
        execute(["cmake", "--build", directory, "--target", target])
        found = [path for path in directory.rglob(name or target) if path.is_file() and os.access(path, os.X_OK)]
        if not found:
            raise Missing(f"{target} was built but is not under {directory.name}")
        return found[0]


@dataclass(frozen=True)
class CmakeProgram:
    target: str
    needs: str = ""
    name: str = ""

    def prepare(self, build):
        return [str(build.cmake_program(self.target, self.needs, self.name))]


@dataclass(frozen=True)
class CargoProgram:
    folder: str
    binary: str
    crate: str

    def prepare(self, build):
        if not glob.glob(f"{DEBIAN_CRATES}/{self.crate}-[0-9]*"):
            raise Missing(f"no {self.crate} in {DEBIAN_CRATES} (Debian: librust-{self.crate}-dev)")
        # The first cargo of PATH; Debian's where that one is broken (a rustup shim without a
        # toolchain, say).
        candidates = [path for path in dict.fromkeys([shutil.which("cargo"), "/usr/bin/cargo"]) if path]
        problem = Missing("no cargo (Debian: cargo)")
        for cargo in candidates:
            try:
                return [self._build(build, cargo)]
            except (Missing, OSError) as error:
                if os.path.exists(cargo):
                    problem = error
        raise Missing(str(problem))

    def _build(self, build, cargo):
        # From a copy: cargo writes a lock file beside Cargo.toml, in a format of its own version.
        copy = build.peers / self.folder
        shutil.copytree(PEERS / self.folder, copy, dirs_exist_ok=True)
        (copy / "Cargo.lock").unlink(missing_ok=True)
        source = ['source.crates-io.replace-with="debian"', f'source.debian.directory="{DEBIAN_CRATES}"']
        config = [part for value in source for part in ("--config", value)]
        home = build.peers / "cargo-home"  # the user's own cargo settings stay out of it
        execute(
            [cargo, "build", "--release", "--offline", *config],
            cwd=copy,
            env={**os.environ, "CARGO_HOME": str(home), "CARGO_TARGET_DIR": str(copy / "target")},
        )
        return str(copy / "target" / "release" / self.binary)


@dataclass(frozen=True)
class GoProgram:
    folder: str
    binary: str
    harness: str = "go"  # the folder that has harness.go; none for servers
    package: str = ""  # a library of Debian's, and
    debian: str = ""  # the package that brings it

    def prepare(self, build):
        go = shutil.which("go")
        if go is None:
            raise Missing("no go (Debian: golang-go)")
        if self.package and not os.path.isdir(f"{DEBIAN_GO}/src/{self.package}"):
            raise Missing(f"no {self.package} (Debian: {self.debian})")
        # A copy with the harness that the Go programs share; Debian's libraries have no modules.
        copy = build.peers / self.binary
        shutil.copytree(PEERS / self.folder, copy, dirs_exist_ok=True)
        if self.harness:
            shutil.copy(PEERS / self.harness / "harness.go", copy)
        output = copy / self.binary
        environment = {
            "GO111MODULE": "off",
            "GOCACHE": str(build.peers / "go-cache"),
            "GOPATH": DEBIAN_GO,
            "GOTOOLCHAIN": "local",
        }
        execute([go, "build", "-o", output, "."], cwd=copy, env={**os.environ, **environment})
        return [str(output)]


@dataclass(frozen=True)
class LoadedServer:
    """A server, which measures nothing: the load generator starts it and speaks for it."""

    program: object
    arguments: list = field(default_factory=list)

    def prepare(self, build):
        generator = build.cmake_program("bench_io_load", "liburing (Debian: liburing-dev)")
        return [str(generator), *self.program.prepare(build), *self.arguments, "--"]


@dataclass(frozen=True)
class WithArguments:
    """A program and what comes before the arguments that run.py or a driver adds."""

    program: object
    arguments: list

    def prepare(self, build):
        return [*self.program.prepare(build), *self.arguments]


@dataclass(frozen=True)
class Installed:
    """A program of the system's, given as it is called."""

    path: str
    debian: str
    command: str

    def prepare(self, build):
        if not os.path.exists(self.path):
            raise Missing(f"no {self.path} (Debian: {self.debian})")
        return [self.command]


@dataclass(frozen=True)
class NodeScript:
    script: str
    module: str = ""

    def prepare(self, build):
        node = shutil.which("node")
        if node is None:
            raise Missing("no node (Debian: nodejs)")
        if self.module and not os.path.isdir(f"/usr/share/nodejs/{self.module}"):
            raise Missing(f"no {self.module} for node (Debian: node-{self.module})")
        return [node, str(PEERS / self.script)]


@dataclass(frozen=True)
class HttpParticipant:
    """Plays some of the parts of suite http: a part that cannot be had leaves the others."""

    parts: dict  # of server, broadcast, client

    def prepare(self, build):
        tools = {
            "load": str(build.cmake_program("bench_http_load", "liburing (Debian: liburing-dev)")),
            "ws_load": str(build.cmake_program("bench_ws_load", "")),
        }
        found, problems = {}, []
        for part, program in self.parts.items():
            try:
                found[part] = program.prepare(build)
            except Missing as problem:
                problems.append(str(problem))
        if not found:
            raise Missing("; ".join(problems))
        for problem in problems:
            print(f"  without a part: {problem}", file=sys.stderr)
        return [sys.executable, str(ROOT / "bench" / "http" / "drive.py"), json.dumps({**found, **tools})]


@dataclass(frozen=True)
class NpmScript:
    """A script with packages of npm's, as its lock file says; from a copy, which they are put beside."""

    folder: str  # under bench/
    script: str
    arguments: list = field(default_factory=list)

    def prepare(self, build):
        node, npm = shutil.which("node"), shutil.which("npm")
        if node is None or npm is None:
            raise Missing("no node or no npm (Debian: nodejs, npm)")
        copy = build.peers / self.folder.replace("/", "_")
        lock = copy / "package-lock.json"
        former = lock.read_text() if (copy / "node_modules").is_dir() and lock.exists() else ""
        shutil.copytree(ROOT / "bench" / self.folder, copy, dirs_exist_ok=True)
        if former != lock.read_text():
            execute([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=copy)
        return [node, str(copy / self.script), *self.arguments]


@dataclass(frozen=True)
class DbParticipant:
    """Plays some of the parts of suite db, with servers that all share."""

    parts: dict  # of pg, redis, sqlite

    def prepare(self, build):
        sys.path.insert(0, str(ROOT / "bench" / "db"))
        import servers  # noqa: PLC0415

        found, problems = {"disk": str(build.peers)}, []
        build.peers.mkdir(parents=True, exist_ok=True)
        for part, program in self.parts.items():
            try:
                found[part] = program.prepare(build)
                if part == "pg":
                    server = build.shared("postgres", lambda: servers.Postgres(tempfile.gettempdir()))
                    found["postgres"] = [server.process.pid, server.url]
                elif part == "redis":
                    server = build.shared("redis", lambda: servers.Redis(build.peers))
                    found["redis_server"] = [server.process.pid, server.port]
            except (Missing, servers.Absent) as problem:
                found.pop(part, None)
                problems.append(str(problem))
        if not found.keys() & self.parts.keys():
            raise Missing("; ".join(problems))
        for problem in problems:
            print(f"  without a part: {problem}", file=sys.stderr)
        return [sys.executable, str(ROOT / "bench" / "db" / "drive.py"), json.dumps(found)]


@dataclass(frozen=True)
class ServiceParticipant:
    """Our task service with handlers that do nothing, the program of users, what submits to it, and what looks at it."""

    program: object

    def prepare(self, build):
        build.peers.mkdir(parents=True, exist_ok=True)
        parts = {
            "weir": [str(build.cmake_program("bench_weir_service", "weir::service"))],
            "program": self.program.prepare(build),
            "load": str(build.cmake_program("bench_service_load", "")),
            "audience": str(build.cmake_program("bench_service_audience", "weir::service")),
            "disk": str(build.peers),
        }
        return [sys.executable, str(ROOT / "bench" / "service" / "drive.py"), json.dumps(parts)]


@dataclass(frozen=True)
class ServicePeer:
    """A queue for Node, on a durable server that it shares with others or has alone."""

    who: str
    server: str  # postgres or redis
    driver: str = "drive.py"

    def prepare(self, build):
        sys.path.insert(0, str(ROOT / "bench" / "db"))
        import servers  # noqa: PLC0415

        command = NpmScript("service/peers/node", "bench.js", [self.who]).prepare(build)
        servers.SERVER_CPU = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0)))
        try:
            if self.server == "postgres":
                make = lambda: servers.Postgres(tempfile.gettempdir(), ["autovacuum=on"])  # noqa: E731
                server = build.shared("durable postgres", make)
                at = server.url
            else:
                folder = tempfile.mkdtemp(prefix="redis-", dir=build.peers)
                server = build.shared("durable redis", lambda: servers.Redis(folder, is_durable=True))
                at = server.port
        except servers.Absent as problem:
            raise Missing(str(problem)) from None
        parts = {"peer": command, "at": at, "server": server.process.pid}
        return [sys.executable, str(ROOT / "bench" / "service" / self.driver), json.dumps(parts)]


@dataclass(frozen=True)
class ClusterParticipant:
    """Nodes of our service on the PostgreSQL server that the peers use too."""

    def prepare(self, build):
        sys.path.insert(0, str(ROOT / "bench" / "db"))
        import servers  # noqa: PLC0415

        servers.SERVER_CPU = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0)))
        parts = {
            "weir": [str(build.cmake_program("bench_weir_service", "weir::service"))],
            "load": str(build.cmake_program("bench_service_load", "")),
        }
        try:
            make = lambda: servers.Postgres(tempfile.gettempdir(), ["autovacuum=on"])  # noqa: E731
            parts["postgres"] = build.shared("durable postgres", make).url
        except servers.Absent as problem:
            raise Missing(str(problem)) from None
        return [sys.executable, str(ROOT / "bench" / "service" / "cluster.py"), json.dumps(parts)]


@dataclass(frozen=True)
class CrawlParticipant:
    """A crawler: ours, which may keep its state in memory, or another one. nginx serves the pages."""

    who: str
    program: object
    is_durable: bool = True

    def prepare(self, build):
        if not os.path.exists("/usr/sbin/nginx"):
            raise Missing("no /usr/sbin/nginx (Debian: nginx-light)")
        build.peers.mkdir(parents=True, exist_ok=True)
        parts = {
            "who": self.who,
            "command": self.program.prepare(build),
            "is_durable": self.is_durable,
            "disk": str(build.peers),
        }
        return [sys.executable, str(ROOT / "bench" / "crawl" / "drive.py"), json.dumps(parts)]


@dataclass(frozen=True)
class WorkersParticipant:
    """Workers in Python on our service, or Celery's on Redis."""

    who: str
    program: object = None  # ours

    def prepare(self, build):
        build.peers.mkdir(parents=True, exist_ok=True)
        parts = {"who": self.who, "disk": str(build.peers)}
        if self.program is not None:
            parts["program"] = self.program.prepare(build)
        else:
            PythonScript("", module=self.who).prepare(build)
            if not shutil.which("redis-server"):
                raise Missing("no redis-server (Debian: redis-server)")
        return ["/usr/bin/python3", str(ROOT / "bench" / "workers" / "drive.py"), json.dumps(parts)]


@dataclass(frozen=True)
class PythonScript:
    """Debian's Python and not the first in PATH, since Debian's modules are installed for it."""

    script: str  # under bench/peers
    arguments: list = field(default_factory=list)
    module: str = ""
    python: str = "/usr/bin/python3"

    def prepare(self, build):
        if not os.path.exists(self.python):
            raise Missing(f"no {self.python} (Debian: python3)")
        check = "import sys; assert sys.version_info >= (3, 11), 'needs Python 3.11'"
        execute([self.python, "-c", check])
        if self.module:
            try:
                execute([self.python, "-c", f"import {self.module}"])
            except Missing:
                raise Missing(f"no {self.module} for {self.python} (Debian: python3-{self.module})") from None
        return [self.python, str(PEERS / self.script), *self.arguments]
