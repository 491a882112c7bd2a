"""SPDK's target, nvmf_tgt, as the server of a vfio-user socket, for the benches beside this file."""
import contextlib
import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

SUBSYSTEM = "nqn.2016-06.io.spdk:joulio"
BLOCK = 512
# What SPDK needs beside the namespace, in MiB.
POOLS = 512


class Rpc:
    """JSON-RPC over a Unix socket. SPDK ends an answer with nothing: it is whole when it can be parsed."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)

    def connect(self):
        try:
            self.socket.connect(str(self.path))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        return True

    def call(self, method, **params):
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.socket.sendall(json.dumps(call).encode())
        said, answer = b"", None
        while answer is None:
            more = self.socket.recv(1 << 16)
            if not more:
                sys.exit(f"nvmf_tgt: ended during {method}: {said.decode()}")
            said += more
            with contextlib.suppress(ValueError):
                answer = json.loads(said)
        if "error" in answer:
            sys.exit(f"nvmf_tgt: {method}: {answer['error']['message']}")


def has_huge_pages(mebibytes):
    """Whether SPDK finds huge pages for all its memory."""
    free = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
    mounted = " hugetlbfs " in pathlib.Path("/proc/mounts").read_text()
    return mounted and free.exists() and 2 * int(free.read_text()) >= mebibytes + POOLS


def described(mebibytes):
    """The version, and what its memory is made of."""
    version = subprocess.run(["nvmf_tgt", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return f"{version}, in {'huge' if has_huge_pages(mebibytes) else 'ordinary'} pages"


@contextlib.contextmanager
def started(folder, cpu, mebibytes):
    words = ["nvmf_tgt", "--cpumask", f"[{cpu}]", "--rpc-socket", folder / "rpc", "--mem-size", mebibytes + POOLS]
    words += ["--no-pci", "--huge-unlink" if has_huge_pages(mebibytes) else "--no-huge"]
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(list(map(str, words)), stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.terminate()
        process.send_signal(signal.SIGCONT)
        process.wait()


@contextlib.contextmanager
def awake(process):
    """The server runs only meanwhile: it polls even when it has nothing to do."""
    process.send_signal(signal.SIGCONT)
    try:
        yield
    finally:
        process.send_signal(signal.SIGSTOP)


@contextlib.contextmanager
def served(cpu, mebibytes):
    """A malloc device of `mebibytes` MiB, served on `cpu`: its socket, and a context in which the server runs."""
    # In memory: the doorbells are a file in it, which a host maps only where no access can wait for a disk.
    with tempfile.TemporaryDirectory(prefix="joulio-nvmf-tgt.", dir="/dev/shm") as folder:
        folder = pathlib.Path(folder)
        with started(folder, cpu, mebibytes) as process:
            rpc = Rpc(folder / "rpc")
            while not rpc.connect():
                if process.poll() is not None:
                    said = (folder / "log").read_text().strip()
                    sys.exit(f"nvmf_tgt: ended with status {process.returncode}: {said}")
                time.sleep(0.02)
            rpc.call("bdev_malloc_create", name="memory", num_blocks=(mebibytes << 20) // BLOCK, block_size=BLOCK)
            rpc.call("nvmf_create_transport", trtype="VFIOUSER")
            rpc.call("nvmf_create_subsystem", nqn=SUBSYSTEM, allow_any_host=True)
            rpc.call("nvmf_subsystem_add_ns", nqn=SUBSYSTEM, namespace={"bdev_name": "memory"})
            address = {"trtype": "VFIOUSER", "traddr": str(folder)}
            rpc.call("nvmf_subsystem_add_listener", nqn=SUBSYSTEM, listen_address=address)
            process.send_signal(signal.SIGSTOP)
            yield folder / "cntrl", lambda: awake(process)
