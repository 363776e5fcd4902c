"""The Python side of bench/child/protocol.ts: one JSON object per line, a reply for every request."""

import json
import os
import sys


class Protocol:
    def __init__(self):
        self._replies = os.fdopen(os.dup(1), "w", buffering=1)
        os.dup2(2, 1)  # what libraries print must not end up between replies
        self._pending = None

    def next_request(self):
        """Waits for a request. The process ends with its input: then nobody is left to answer."""
        request, self._pending = self._pending, None
        if request is not None:
            return request
        line = sys.stdin.readline()
        if line == "":
            os._exit(0)
        return json.loads(line)

    def wait_for_run(self):
        """True for a run; False for anything else, which the next `next_request` returns."""
        self._pending = self.next_request()
        if self._pending["do"] != "run":
            return False
        self._pending = None
        return True

    def ready(self, versions):
        self._reply({"versions": versions})

    def done(self, seconds, tokens, **more):
        """`more`: check, counts, stages."""
        self._reply({"seconds": seconds, "tokens": tokens} | more)

    def fail(self, message):
        self._reply({"error": message})

    def _reply(self, reply):
        self._replies.write(json.dumps(reply) + "\n")
