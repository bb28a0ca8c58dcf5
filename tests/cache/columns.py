"""What tests/cache/dump wrote, as pyarrow's arrays; and arrays compared bit for bit."""
import struct
import subprocess

import pyarrow as pa


class Refused(Exception):
    """The reader's one line."""


def dump(program, *args):
    done = subprocess.run([program, *map(str, args)], capture_output=True)
    if done.returncode == 0:
        return done.stdout
    lines = done.stderr.decode(errors="replace").splitlines()
    if done.returncode != 1 or len(lines) != 1 or "BUG" in lines[0]:
        raise RuntimeError(f"status {done.returncode}:\n" + "\n".join(lines[:60]))
    raise Refused(lines[0])


class Reader:
    def __init__(self, data):
        self.data, self.at = memoryview(data), 0

    def take(self, n):
        piece = self.data[self.at:self.at + n]
        assert len(piece) == n
        self.at += n
        return piece

    def numbers(self, n):
        return struct.unpack(f"<{n}q", self.take(8 * n))

    def buffer(self, n):
        return None if n < 0 else pa.py_buffer(bytes(self.take(n)))

    def array(self, kind):
        _, rows, nulls, *sizes = self.numbers(6)
        validity, offsets, values = map(self.buffer, sizes)
        if pa.types.is_null(kind):
            return pa.nulls(rows)
        if pa.types.is_map(kind):
            entries = pa.struct([pa.field("key", kind.key_type, False), kind.item_field])
            return pa.Array.from_buffers(kind, rows, [validity, offsets], nulls, 0, [self.array(entries)])
        if pa.types.is_list(kind):
            return pa.Array.from_buffers(kind, rows, [validity, offsets], nulls, 0, [self.array(kind.value_type)])
        if pa.types.is_struct(kind):
            children = [self.array(field.type) for field in kind]
            return pa.Array.from_buffers(kind, rows, [validity], nulls, 0, children)
        if pa.types.is_string(kind) or pa.types.is_binary(kind) and offsets is not None:
            return pa.Array.from_buffers(kind, rows, [validity, offsets, values], nulls)
        return pa.Array.from_buffers(kind, rows, [validity, values], nulls)


def narrow(kind):
    """A type without those that only pyarrow and polars know, as the cache has it."""
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if isinstance(kind, pa.UuidType):
        return pa.binary(16)
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(narrow(f.type)).remove_metadata() for f in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(kind.value_field.with_type(narrow(kind.value_type)).remove_metadata())
    if pa.types.is_map(kind):
        return pa.map_(narrow(kind.key_type), kind.item_field.with_type(narrow(kind.item_type)).remove_metadata())
    return kind


def narrow_schema(schema):
    return pa.schema([f.with_type(narrow(f.type)).remove_metadata() for f in schema])


def table(data, schema):
    """The dump as a table of that schema."""
    reader, batches = Reader(data), []
    while reader.at < len(data):
        assert bytes(reader.take(1)) == b"B"
        rows, columns = reader.numbers(2)
        assert columns == len(schema), (columns, schema)
        arrays = [reader.array(field.type) for field in schema]
        for field, array in zip(schema, arrays):
            array.validate(full=True)
            assert len(array) == rows, f"{field}: {len(array)} rows of {rows}"
        batches.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
    return pa.Table.from_batches(batches, schema)


def difference(ours, theirs):
    """Where two arrays differ, also in a bit of a NaN; None if nowhere."""
    if ours.type != theirs.type or len(ours) != len(theirs):
        return f"{len(ours)} of {ours.type}, {len(theirs)} of {theirs.type}"
    if not ours.is_valid().equals(theirs.is_valid()):
        return "nulls"
    kind = ours.type
    if pa.types.is_struct(kind):
        pairs = zip(ours.flatten(), theirs.flatten())
    elif pa.types.is_map(kind):
        pairs = [(ours.keys, theirs.keys), (ours.items, theirs.items)]
        if not lengths(ours).equals(lengths(theirs)):
            return "lengths"
    elif pa.types.is_list(kind):
        pairs = [(ours.flatten(), theirs.flatten())]
        if not lengths(ours).equals(lengths(theirs)):
            return "lengths"
    else:
        bits = {pa.float16(): pa.int16(), pa.float32(): pa.int32(), pa.float64(): pa.int64()}.get(kind)
        if bits:
            ours, theirs = ours.view(bits), theirs.view(bits)
        return None if ours.equals(theirs) else "values"
    return next((f"{kind}: {d}" for d in (difference(a, b) for a, b in pairs) if d), None)


def lengths(array):
    offsets = array.offsets.to_pylist()
    return pa.array([b - a for a, b in zip(offsets, offsets[1:])])


def differences(ours, theirs):
    if ours.num_rows != theirs.num_rows:
        return f"{ours.num_rows} rows, {theirs.num_rows} expected"
    found = []
    for name in theirs.column_names:
        pair = [t.column(name).combine_chunks() for t in (ours, theirs)]
        d = difference(*pair)
        if d:
            found.append(f"column {name}: {d}")
    return "\n".join(found)
