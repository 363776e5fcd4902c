"""python -m ludus_worker: serves an engine until it is stopped. Under torchrun the first process serves, the others take part."""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
import json
import logging
import os
import secrets
import sys
import threading
from pathlib import Path

log = logging.getLogger("ludus")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ludus_worker", description="Serves Ludus' PyTorch engine.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at; loopback by default")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--tls-certificate", help="PEM file")
    parser.add_argument("--tls-key", help="PEM file")
    parser.add_argument("--insecure", action="store_true", help="plain text beyond loopback, on a network you trust")
    parser.add_argument("--parent", action="store_true", help="end when standard input ends")
    return parser.parse_args()


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def end_with_parent() -> None:
    """The pipe closes when whoever started this process ends, however it ends."""

    def wait() -> None:
        while sys.stdin.buffer.read(4096):
            pass
        os._exit(1)  # not 0, or torchrun would wait for the other processes

    threading.Thread(target=wait, name="parent", daemon=True).start()


async def serve(options: argparse.Namespace) -> None:
    # logs of gRPC about closed connections are noise in a training log
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    import grpc

    from .distributed import Group
    from .protocol import protocol
    from .ranks import Ranks
    from .service import Service, server_options

    token = os.environ.pop("LUDUS_WORKER_TOKEN", "")
    group = Group()
    inner_token = token
    if group.size > 1:
        # processes of one worker trust each other by a token of their own
        inner_token = group.share(secrets.token_hex(16))
    ranks = Ranks(group.rank, inner_token)
    service = Service(token if group.rank == 0 else inner_token, ranks)
    server = grpc.aio.server(options=server_options)
    server.add_generic_rpc_handlers((service.handler(),))
    host = options.host if group.rank == 0 else group.own_host()
    address = f"[{host}]:{options.port}" if ":" in host else f"{host}:{options.port if group.rank == 0 else 0}"
    if options.tls_certificate and group.rank == 0:
        pair = (Path(options.tls_key).read_bytes(), Path(options.tls_certificate).read_bytes())
        port = server.add_secure_port(address, grpc.ssl_server_credentials([pair]))
    else:
        port = server.add_insecure_port(address)
    await server.start()
    addresses = group.gather(f"{host}:{port}")
    if group.rank == 0:
        ranks.connect(addresses[1:])
        print(json.dumps({"ludus-worker": {"port": port, "protocol": protocol}}), flush=True)
        log.info("process %d listens at %s:%d", os.getpid(), host, port)
    await server.wait_for_termination()


def main() -> None:
    options = parse()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stderr)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    if not is_loopback(options.host):
        if not os.environ.get("LUDUS_WORKER_TOKEN"):
            sys.exit(f"{options.host} can be reached from elsewhere: set LUDUS_WORKER_TOKEN to a secret")
        if not options.tls_certificate and not options.insecure:
            sys.exit(f"{options.host} can be reached from elsewhere: give --tls-certificate and --tls-key, or --insecure")
    if options.parent:
        end_with_parent()
    # the thread that computes must not wait for 5 ms, ten decode steps, while the other one reads messages
    sys.setswitchinterval(0.0002)
    try:
        asyncio.run(serve(options))
    except KeyboardInterrupt:
        pass


main()
