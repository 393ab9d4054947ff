"""A private PostgreSQL server: a temporary folder, a private socket, no network."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path


def find_program(name):
    """Return the path of a PostgreSQL program; Debian keeps the server's out of the PATH."""
    found = shutil.which(name)
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return found or (str(places[-1]) if places else None)


def why_not():
    """Return why no server can be started; None if one can."""
    missing = [name for name in ("initdb", "postgres", "psql") if find_program(name) is None]
    if missing:
        return f"PostgreSQL is not installed: no {', '.join(missing)}"
    if os.getuid() == 0 and _user() is None:
        return "PostgreSQL does not run as root, and there is no other user to run it"
    return None


def _user():
    """Return the user to run the server if this process is root, which cannot run it."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


class Server:
    """A running server, queried through psql."""

    def __init__(self, folder, user):
        self.folder, self.user = folder, user

    def ask(self, query, given=None):
        """Run a query; return its standard output."""
        command = [
            find_program("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", str(self.folder),
            "-U", "treerank", "-d", "postgres",
        ]  # fmt: skip
        if given is None:
            command += ["-f", "-"]
            given = query
        else:
            command += ["-c", query]
        done = subprocess.run(
            command, input=given.encode(), capture_output=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr.decode()[:2000]
        return done.stdout.decode()


@contextmanager
def running_server():
    """Start a server; stop it and remove its folder at the end."""
    folder = Path(tempfile.mkdtemp(prefix="treerank-pg-"))  # a socket's path must be short
    user = _user()
    as_user = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid}
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    data = folder / "data"
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(folder)}
    try:
        subprocess.run(
            [find_program("initdb"), "-D", str(data), "-U", "treerank", "--auth=trust",
             "--encoding=UTF8", "--no-sync"],
            check=True, capture_output=True, env=environment, cwd=folder, **as_user,
        )  # fmt: skip
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [find_program("postgres"), "-D", str(data), "-k", str(folder), "-h", "",
                 "-c", "fsync=off", "-c", "max_stack_depth=2MB"],
                stdout=log, stderr=log, env=environment, cwd=folder, **as_user,
            )  # fmt: skip
        try:
            _wait(folder, server)
            yield Server(folder, user)
        finally:
            server.terminate()
            server.wait(timeout=60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(folder, server):
    for _ in range(300):
        if (folder / ".s.PGSQL.5432").exists():
            return
        assert server.poll() is None, (folder / "log").read_text()
        time.sleep(0.1)
    raise TimeoutError((folder / "log").read_text())
