"""Ports of loopback for servers that a test starts. As a program: ports.py [N] prints N of them."""
import random
import socket
import sys

chosen = set()


def free_port(host="127.0.0.1"):
    """One that nobody has, below those that the kernel gives to connections, which could take it meanwhile."""
    while True:
        port = random.randrange(11000, 29000)
        if port in chosen:
            continue
        try:
            with socket.socket() as s:  # it does not listen: a child of another thread may have it until its exec
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                s.bind((host, port))
                chosen.add(port)
                return port
        except OSError:
            continue


if __name__ == "__main__":
    print(*(free_port() for _ in range(int((sys.argv[1:] or ["1"])[0]))))
