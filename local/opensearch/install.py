"""Fetching OpenSearch from Maven Central, and finding what fetches and runs it."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from local.opensearch.errors import LocalOpenSearchError

POM = Path(__file__).with_name("pom.xml")
OLDEST_JAVA = 21


def find_java() -> Path:
    """Return the `java` of the first JDK that can run the server and compile its launcher.

    Looked at in this order: `JAVA_HOME`, the `java` on `PATH`, what Linux packages install.

    Raises:
        LocalOpenSearchError: no JDK is new enough.
    """
    candidates = [Path(os.environ["JAVA_HOME"], "bin/java")] if "JAVA_HOME" in os.environ else []
    if on_path := shutil.which("java"):
        candidates.append(Path(on_path).resolve())
    candidates.extend(sorted(Path("/usr/lib/jvm").glob("*/bin/java")))
    for java in candidates:
        if java.with_name("javac").exists() and _major_version(java) >= OLDEST_JAVA:
            return java
    message = f"missing: a JDK of version {OLDEST_JAVA} or newer (JAVA_HOME may name it)"
    raise LocalOpenSearchError(message)


def _major_version(java: Path) -> int:
    """Return the major version that `java -version` prints; 0 where it does not run."""
    try:
        run = subprocess.run([java, "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 0
    found = re.search(r'version "(\d+)', run.stderr)
    return int(found[1]) if found else 0


def install(cache: Path) -> Path:
    """Unpack the server and the plugin that pom.xml pins into `cache`, once.

    Parallel calls wait for each other; a call after a whole one only compares a hash.

    Args:
        cache: folder for the unpacked server; made where it is missing.

    Returns:
        The home folder of the server.

    Raises:
        LocalOpenSearchError: Maven is missing, or could not fetch the artifacts.
    """
    cache.mkdir(parents=True, exist_ok=True)
    pom = POM.read_bytes()
    home = cache / f"opensearch-{_pinned_version(pom)}"
    done = cache / "installed.sha256"
    wanted = hashlib.sha256(pom).hexdigest()
    with (cache / "install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (done.exists() and done.read_text() == wanted and home.exists()):
            print(f"fetching {home.name}: 200 MB, once", file=sys.stderr)
            _unpack(cache)
            done.write_text(wanted)
    return home


def _pinned_version(pom: bytes) -> str:
    """Return the server version of pom.xml, which is the one place that states it."""
    name = "{http://maven.apache.org/POM/4.0.0}"
    version = ElementTree.fromstring(pom).findtext(f"{name}properties/{name}opensearch.version")
    if version is None:
        message = f"{POM} has no property opensearch.version"
        raise LocalOpenSearchError(message)
    return version


def _unpack(cache: Path) -> None:
    """Let Maven fetch the archives and unpack them."""
    maven = shutil.which("mvn")
    if maven is None:
        message = "missing: Maven (mvn fetches OpenSearch from Maven Central)"
        raise LocalOpenSearchError(message)
    command = [maven, "--batch-mode", "--quiet"]
    command += ["-Dstyle.color=never", f"--file={POM}", f"-Dcache={cache}", "package"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        errors = [line for line in run.stdout.splitlines() if "ERROR" in line]
        reason = (errors or run.stderr.splitlines() or [f"exit code {run.returncode}"])[0]
        message = f"Maven could not fetch OpenSearch: {reason}"
        raise LocalOpenSearchError(message)
