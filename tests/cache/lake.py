"""Iceberg tables: by pyiceberg, and what it does not write, by hand: deletes, other Avro files, other places."""
import copy
import json
import pathlib

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog

POSITIONS = pa.schema([
    pa.field("file_path", pa.string(), False, {"PARQUET:field_id": "2147483546"}),
    pa.field("pos", pa.int64(), False, {"PARQUET:field_id": "2147483545"}),
])


def catalog(folder):
    folder.mkdir()
    made = SqlCatalog("test", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
    made.create_namespace("db")
    return made


def local(location):
    return pathlib.Path(str(location).removeprefix("file://"))


def read_avro(path):
    with open(local(path), "rb") as file:
        reader = fastavro.reader(file)
        records = list(reader)
        meta = {k: v for k, v in reader.metadata.items() if not k.startswith("avro.")}
        return reader.writer_schema, records, meta


def write_avro(path, schema, records, meta, codec="deflate"):
    with open(local(path), "wb") as file:
        fastavro.writer(file, schema, records, codec=codec, metadata=meta)


class Metadata:
    """A metadata file, changed and written beside the original."""

    def __init__(self, path):
        self.path = local(path)
        self.doc = json.loads(self.path.read_text())

    def snapshot(self):
        return next(s for s in self.doc["snapshots"] if s["snapshot-id"] == self.doc["current-snapshot-id"])

    def save(self, name):
        path = self.path.with_name(f"{name}.metadata.json")
        path.write_text(json.dumps(self.doc))
        return path

    def manifests(self):
        return read_avro(self.snapshot()["manifest-list"])

    def data_files(self):
        return [e["data_file"] for m in self.manifests()[1] if not m.get("content")
                for e in read_avro(m["manifest_path"])[1] if e["status"] != 2]

    def commit(self, change_list):
        """A new snapshot, whose manifest list is the current one's, changed."""
        schema, records, meta = self.manifests()
        old = self.snapshot()
        new = copy.deepcopy(old)
        new["snapshot-id"] = old["snapshot-id"] % 2**60 + 1
        new["sequence-number"] = self.doc["last-sequence-number"] = self.doc["last-sequence-number"] + 1
        new["manifest-list"] = f"file://{self.path.parent}/list-{new['snapshot-id']}.avro"
        change_list(records, new["sequence-number"])
        write_avro(new["manifest-list"], schema, records, meta)
        self.doc["snapshots"].append(new)
        self.doc["current-snapshot-id"] = new["snapshot-id"]
        self.doc.get("refs", {}).get("main", {})["snapshot-id"] = new["snapshot-id"]

    def add_deletes(self, content, table, name, partition=None, equality_ids=None, spec=None, change=None):
        """A delete file of that table, in a manifest of its own. Returns its path."""
        path = self.path.parent / f"{name}.parquet"
        pq.write_table(table, path)
        schema, records, _ = self.manifests()
        like = next(m for m in records if not m.get("content") and spec in (None, m["partition_spec_id"]))
        entry_schema, entries, meta = read_avro(like["manifest_path"])
        entry = copy.deepcopy(entries[0])
        entry.update(status=1, sequence_number=None, file_sequence_number=None)
        file = entry["data_file"]
        for key in file:
            if key not in ("file_path", "file_format", "partition", "record_count", "file_size_in_bytes"):
                file[key] = None
        file.update(content=content, file_path=f"file://{path}", record_count=table.num_rows,
                    file_size_in_bytes=path.stat().st_size, equality_ids=equality_ids)
        file["partition"] = file["partition"] if partition is None else partition
        if change:
            change(file)
        manifest = self.path.parent / f"{name}.avro"
        write_avro(manifest, entry_schema, [entry], {**meta, "content": "deletes"})

        def add(listed, sequence):
            one = copy.deepcopy(like)
            one.update(manifest_path=f"file://{manifest}", manifest_length=manifest.stat().st_size, content=1,
                       sequence_number=sequence, min_sequence_number=sequence)
            listed.append(one)
        self.commit(add)
        return path

    def rewrite(self, codec="deflate", location=lambda path: path):
        """The same manifests and list in another compression, and names in another place."""
        schema, records, meta = self.manifests()
        for i, record in enumerate(records):
            entry_schema, entries, entry_meta = read_avro(record["manifest_path"])
            for entry in entries:
                entry["data_file"]["file_path"] = location(entry["data_file"]["file_path"])
            path = self.path.parent / f"rewritten-{codec}-{i}.avro"
            write_avro(path, entry_schema, entries, entry_meta, codec)
            record.update(manifest_path=location(f"file://{path}"), manifest_length=path.stat().st_size)
        path = self.path.parent / f"rewritten-{codec}.avro"
        write_avro(path, schema, records, meta, codec)
        self.snapshot()["manifest-list"] = location(f"file://{path}")
        return self.save(f"rewritten-{codec}")
