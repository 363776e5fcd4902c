/**
 * The program that evaluates expressions inside a box. Every test runs in a child of its own, which loads the code anew; the parent never runs
 * any of it. What is expected is not here: whatever code does to this program, it can only change which value it is said to give.
 */
export const pythonTestsProgram = `
import os, select, signal, sys, time
import json

request = json.loads(sys.stdin.buffer.read())
channel = os.dup(1)
quiet = os.open(os.devnull, os.O_RDWR)
for standard in (0, 1, 2):
    os.dup2(quiet, standard)

def say(line):
    data = (json.dumps(line) + "\\n").encode()
    while data:
        data = data[os.write(channel, data):]

def number(value):
    if value != value or value in (float("inf"), float("-inf")):
        return '{"$number":"%s"}' % ("NaN" if value != value else "Infinity" if value > 0 else "-Infinity")
    return int.__repr__(int(value)) if value == int(value) and abs(value) < 2 ** 53 else float.__repr__(value)

def write(value, depth=0):
    if depth > 50:
        raise ValueError("a value nested too deep")
    inner = lambda each: write(each, depth + 1)
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(str.__str__(value))
    if isinstance(value, int):
        text = int.__repr__(value)
        return text if abs(value) < 2 ** 53 else '{"$bigint":"%s"}' % text
    if isinstance(value, float):
        return number(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(inner(each) for each in value) + "]"
    if isinstance(value, (set, frozenset)):
        return '{"$set":[' + ",".join(inner(each) for each in value) + "]}"
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return "{" + ",".join(inner(key) + ":" + inner(part) for key, part in value.items()) + "}"
        return '{"$map":[' + ",".join("[" + inner(key) + "," + inner(part) + "]" for key, part in value.items()) + "]}"
    raise TypeError("a value of type %s is not data" % type(value).__name__)

def evaluate(code, expression):
    try:
        names = {"__name__": "solution", "__builtins__": __builtins__}
        exec(compile(code, "solution.py", "exec"), names)
        return {"kind": "gave", "text": write(eval(compile(expression, "test.py", "eval"), names))}
    except SyntaxError as error:
        return {"kind": "not-compiled", "text": "%s" % error}
    except BaseException as error:
        return {"kind": "threw", "text": "%s: %s" % (type(error).__name__, error)}

def run(test, code, expression):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.close(reader)
        os.close(channel)
        data = json.dumps(evaluate(code, expression)).encode()[: request["outputBytes"]]
        while data:
            data = data[os.write(writer, data):]
        os._exit(0)
    os.close(writer)
    data, end = b"", time.monotonic() + request["testMs"] / 1000
    outcome = None
    while outcome is None:
        ready = select.select([reader], [], [], max(0, end - time.monotonic()))[0]
        if not ready:
            outcome = {"kind": "timeout"}
            break
        chunk = os.read(reader, 65536)
        if not chunk:
            break
        data += chunk
        if len(data) > request["outputBytes"]:
            outcome = {"kind": "threw", "text": "a value that is too large"}
    os.close(reader)
    for target in (lambda: os.killpg(pid, signal.SIGKILL), lambda: os.kill(pid, signal.SIGKILL)):
        try:
            target()
        except OSError:
            pass
    status = os.waitpid(pid, 0)[1]
    if outcome is None:
        try:
            outcome = json.loads(data)
        except ValueError:
            outcome = {"kind": "ended", "text": "it ended the process with status %d" % status}
    say({"test": test, "outcome": outcome})

for test, (code, expression) in enumerate(request["runs"]):
    say({"started": test})
    run(test, request["code"] if code is None else code, expression)
`;
