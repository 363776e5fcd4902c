/**
 * A warm interpreter, process 1 of its namespace: it forks for every call, and ends all that a call left behind. It cannot be signalled or looked
 * into from inside. Requests come on standard input, a line each; answers go out as frames: a byte for the kind, four for the length, the rest.
 */
export const pythonZygoteProgram = `
import os, sys
import _ctypes, resource, select
# few imports, and none that need regular expressions: every box pays for them
handle = _ctypes.dlopen(None, 2)
prctl = _ctypes.dlsym(handle, "prctl")
PR_SET_DUMPABLE, SIGKILL = 4, 9
_ctypes.call_function(prctl, (PR_SET_DUMPABLE, 0, 0, 0, 0))
for name, value in (("CORE", 0), ("NOFILE", 1024), ("NPROC", int(sys.argv[1]))):
    resource.setrlimit(getattr(resource, "RLIMIT_" + name), (value, value))
OUT, ERR, END, READY = 1, 2, 3, 4
channel = os.dup(1)
requests = os.dup(0)
null = os.open(os.devnull, os.O_RDWR)
for standard in (0, 1, 2):
    os.dup2(null, standard)

def send(kind, data=b""):
    data = bytes([kind]) + len(data).to_bytes(4, "big") + data
    while data:
        data = data[os.write(channel, data):]

def load(args):
    """The source that a call of python3 would run."""
    if args[0] == "-c":
        return "<string>", args[1], ["-c", *args[2:]], ""
    with open(args[0], "rb") as file:
        return args[0], file.read(), args, os.path.dirname(os.path.abspath(args[0]))

def child(request, pipes):
    _ctypes.call_function(prctl, (PR_SET_DUMPABLE, 1, 0, 0, 0))
    for standard, pipe in enumerate(pipes):
        os.dup2(pipe, standard)
    os.closerange(3, 1024)
    os.setsid()
    sys.stdin, sys.stdout, sys.stderr = open(0, "r", closefd=False), open(1, "w", closefd=False), open(2, "w", closefd=False)
    status = 1
    try:
        os.environ.clear()
        os.environ.update(request["env"])
        os.chdir(request["cwd"])
        for name, value in request["limits"].items():
            resource.setrlimit(getattr(resource, name), (value, value))
        name, source, sys.argv, folder = load(request["args"])
        sys.path.insert(0, folder)
        main = type(sys)("__main__")
        if name != "<string>":
            main.__file__ = name
        sys.modules["__main__"] = main
        exec(compile(source, name, "exec"), main.__dict__)
        status = 0
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            status = (error.code or 0) & 255
        else:
            print(error.code, file=sys.stderr)
    except BaseException as error:
        trace = error.__traceback__.tb_next  # without this program's own frame
        import traceback
        traceback.print_exception(type(error), error, trace)
    try:
        if "threading" in sys.modules:
            sys.modules["threading"]._shutdown()
        import atexit
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        status = status or 120
    os._exit(status)

def call(request):
    (in_r, in_w), (out_r, out_w), (err_r, err_w) = os.pipe(), os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        child(request, (in_r, out_w, err_w))
    for fd in (in_r, out_w, err_w):
        os.close(fd)
    given = request["input"].encode("latin-1")
    os.set_blocking(in_w, False)
    if not given:
        os.close(in_w)
        in_w = -1
    kinds = {out_r: OUT, err_r: ERR}
    ended = os.pidfd_open(pid)
    watched = [out_r, err_r, ended, requests]
    status = None
    while status is None or kinds:
        ready, writable, _ = select.select(watched, [in_w] if in_w >= 0 else [], [], 0 if status is not None else None)
        if status is not None and not ready:
            break
        for fd in ready:
            if fd == requests:
                # whatever comes meanwhile is the wish to stop, or the end of the program
                if not os.read(requests, 65536):
                    os._exit(0)
                kill_all()
            elif fd == ended:
                status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                watched.remove(fd)
                kill_all()
            else:
                data = os.read(fd, 65536)
                if data:
                    send(kinds[fd], data)
                else:
                    watched.remove(fd)
                    del kinds[fd]
        if writable:
            try:
                given = given[os.write(in_w, given[:65536]):]
            except OSError:
                given = b""
            if not given:
                os.close(in_w)
                in_w = -1
    for fd in (out_r, err_r, ended, *([in_w] if in_w >= 0 else [])):
        os.close(fd)
    reap()
    send(END, str(status).encode())

def kill_all():
    try:
        os.kill(-1, SIGKILL)
    except OSError:
        pass

def reap():
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass

send(READY)
pending = b""
while True:
    while b"\\n" not in pending:
        chunk = os.read(requests, 65536)
        if not chunk:
            os._exit(0)
        pending += chunk
    line, pending = pending.split(b"\\n", 1)
    if line == b"stop":
        continue
    # JSON that the program outside wrote is Python too
    call(eval(line, {"__builtins__": {}, "true": True, "false": False, "null": None}))
`;
