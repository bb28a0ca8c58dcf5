#!/usr/bin/env python3
"""Batches of `kftrainer gpu-feed` as tensors on this process's GPU, without a copy.

    import torch
    from gpu_feed import Feed
    for batch in Feed("/run/feed", rank=0):
        pixels = torch.from_dlpack(batch["pixels"].values)   # [rows, 784] of lists of 784 values
        labels = torch.from_dlpack(batch["label"].values)

Columns have Arrow's layout: `values`, `offsets` and `validity` (bits) are arrays of DLPack, or None.
Lists whose rows all have the same length, decimals and fixed-size bytes have 2-D values; booleans are
bits. The feed reuses the memory when the batch and all of its tensors are deleted.

    python3 gpu_feed.py /run/feed RANK

prints the rows and the bytes of each column.
"""
import ctypes
import json
import os
import socket
import struct
import sys

VERSION, JOIN, GIVE_BACK = 0x4b474601, 1, 2
MESSAGE_MAX = 128 * 1024
CPU, CUDA = 1, 2  # DLPack's kinds of device
INT, UINT, FLOAT = 0, 1, 2
# Type: DLPack's code, and bits of a value.
TYPES = {"bool": (UINT, 8), "float16": (FLOAT, 16), "float32": (FLOAT, 32), "float64": (FLOAT, 64),
         "date32": (INT, 32), "time32": (INT, 32), "time64": (INT, 64), "timestamp": (INT, 64),
         "decimal": (UINT, 8), "fixed": (UINT, 8), "string": (UINT, 8), "binary": (UINT, 8),
         **{f"int{b}": (INT, b) for b in (8, 16, 32, 64)}, **{f"uint{b}": (UINT, b) for b in (8, 16, 32, 64)}}


class FeedError(Exception):
    """An error of the feed or of CUDA."""


# ---- DLPack ----

class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


handed_out = {}  # address of a DLManagedTensor: it, and what it needs
python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
python.PyCapsule_IsValid.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def delete_tensor(address):
    handed_out.pop(address, None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def delete_capsule(capsule):
    """The destructor of a capsule from which no tensor was taken."""
    if python.PyCapsule_IsValid(capsule, b"dltensor"):
        handed_out.pop(python.PyCapsule_GetPointer(capsule, b"dltensor"), None)


class Array:
    """Memory of a batch, which torch.from_dlpack() and others take without a copy."""

    def __init__(self, lease, address, shape, code, bits):
        self.lease, self.address, self.shape, self.code, self.bits = lease, address, shape, code, bits

    @property
    def nbytes(self):
        n = self.bits // 8
        for length in self.shape:
            n *= length
        return n

    def __dlpack_device__(self):
        return self.lease.feed.device

    def __dlpack__(self, stream=None, **unused):
        """A batch is sent after it was copied: there is no stream to wait for."""
        kind, number = self.lease.feed.device
        shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        managed = DLManagedTensor(DLTensor(self.address, kind, number, len(self.shape), self.code, self.bits, 1, shape, None, 0),
                                  None, ctypes.cast(delete_tensor, ctypes.c_void_p))
        address = ctypes.addressof(managed)
        handed_out[address] = managed, shape, self.lease
        return python.PyCapsule_New(address, b"dltensor", ctypes.cast(delete_capsule, ctypes.c_void_p))


# ---- batches ----

class Lease:
    """Returns the memory of a batch to the feed when nothing refers to it any more."""

    def __init__(self, feed, batch):
        self.feed, self.batch = feed, batch

    def __del__(self):
        self.feed.give_back(self.batch)


class Column:
    """A column of a batch, or a child of one: fields of Arrow, and arrays in device memory."""

    def __init__(self, lease, start, field, arrays):
        self.name, self.type, self.field = field["name"], field["type"], field
        self.rows, self.nulls, self.size, *places = next(arrays)
        validity, offsets, values = zip(places[::2], places[1::2])
        self.validity = self.array(lease, start, validity, UINT, 8)
        self.offsets = self.array(lease, start, offsets, INT, 32)
        self.children = [Column(lease, start, child, arrays) for child in field.get("children", [])]
        self.values = self.array(lease, start, values, *TYPES[self.type], field["width"]) if self.type in TYPES else None
        inner = self.children[0].values if self.type == "list" and self.size > 0 else None
        if inner and len(inner.shape) == 1 and self.children[0].type not in ("bool", "string", "binary"):
            self.values = Array(lease, inner.address, (self.rows, self.size), inner.code, inner.bits)

    @staticmethod
    def array(lease, start, place, code, bits, width=0):
        at, length = place
        if at < 0:
            return None
        values = length * 8 // bits
        shape = (values // width, width) if width and width * 8 != bits else (values,)
        return Array(lease, start + at, shape, code, bits)


class Batch:
    def __init__(self, feed, message):
        lease, arrays = Lease(feed, message["batch"]), iter(message["arrays"])
        self.number, self.rows = message["batch"], message["rows"]
        self.columns = [Column(lease, feed.memory + message["offset"], field, arrays) for field in feed.columns]

    def __getitem__(self, name):
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)


# ---- CUDA ----

class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 64)]


class Cuda:
    """The feed's memory, opened on the device with this UUID."""

    def __init__(self, uuid, handle, library="libcuda.so.1"):
        self.library, self.memory = ctypes.CDLL(library), ctypes.c_uint64()
        self.call("cuInit", 0)
        self.number, self.device = self.find(uuid)
        self.context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.device)
        with self:
            self.call("cuIpcOpenMemHandle_v2", ctypes.byref(self.memory), Handle.from_buffer_copy(bytes.fromhex(handle)), 1)

    def call(self, name, *args):
        code = getattr(self.library, name)(*args)
        if code:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(code, ctypes.byref(text))
            raise FeedError(f"{name}: {(text.value or b'unknown error').decode()} ({code})")

    def find(self, uuid):
        n, device, found = ctypes.c_int(), ctypes.c_int(), (ctypes.c_ubyte * 16)()
        self.call("cuDeviceGetCount", ctypes.byref(n))
        for number in range(n.value):
            self.call("cuDeviceGet", ctypes.byref(device), number)
            self.call("cuDeviceGetUuid_v2", ctypes.byref(found), device)
            if bytes(found).hex() == uuid.split("-", 1)[1].replace("-", ""):
                return number, device
        raise FeedError(f"the rank's device, {uuid}, is not visible here: check CUDA_VISIBLE_DEVICES")

    def __enter__(self):
        self.call("cuCtxPushCurrent_v2", self.context)

    def __exit__(self, *unused):
        self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def synchronize(self):
        with self:
            self.call("cuCtxSynchronize")

    def close(self):
        with self:
            self.call("cuCtxSynchronize")
            self.call("cuIpcCloseMemHandle", self.memory)
        self.call("cuDevicePrimaryCtxRelease_v2", self.device)


class Feed:
    """Iterate over it once. `device`: DLPack's device type; CPU is for tests with a stand-in for CUDA."""

    def __init__(self, path, rank=None, device=CUDA):
        self.rank = int(os.environ.get("LOCAL_RANK", "0")) if rank is None else rank
        self.cuda = None
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(str(path))
        self.send(JOIN, self.rank)
        welcome = self.receive()
        self.columns = welcome["columns"]
        self.cuda = Cuda(welcome["uuid"], welcome["handle"])
        self.memory = self.cuda.memory.value
        self.device = device, self.cuda.number if device == CUDA else 0

    def send(self, what, value):
        self.socket.sendall(struct.pack("<IIQ", VERSION, what, value))

    def receive(self):
        data = self.socket.recv(MESSAGE_MAX)
        if not data:
            raise FeedError("the feed has closed the connection")
        message = json.loads(data)
        if "error" in message:
            raise FeedError(message["error"])
        return message

    def give_back(self, batch):
        """Waits until the device has finished its work with it."""
        if self.cuda:
            self.cuda.synchronize()
            try:
                self.send(GIVE_BACK, batch)
            except OSError:
                pass  # the feed has ended, and says why to who receives

    def __iter__(self):
        while True:
            message = self.receive()
            if "end" in message:
                return
            yield Batch(self, message)

    def close(self):
        """Unmaps the memory; call it when all tensors are deleted."""
        if self.cuda:
            self.cuda.close()
            self.cuda = None
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


def main():
    rows, sizes = 0, {}
    with Feed(sys.argv[1], int(sys.argv[2])) as feed:
        for batch in feed:
            rows += batch.rows
            for column in batch.columns:
                sizes[column.name] = sizes.get(column.name, 0) + (column.values.nbytes if column.values else 0)
            del batch, column
    print(f"{rows} rows", *(f"{name}: {size} bytes" for name, size in sizes.items()), sep="\n")


if __name__ == "__main__":
    main()
