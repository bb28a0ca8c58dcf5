#!/usr/bin/python3
"""without_pods.py ADDRESS NAMESPACE < OBJECTS: what `kftrainer install` makes, for a controller
that is a process at ADDRESS: no Deployment, but endpoints for the Services that lead to it."""
import sys
import yaml

address, namespace = sys.argv[1:]
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
objects = [obj for obj in yaml.load_all(sys.stdin, Loader) if obj]
named_ports = {port["name"]: port["containerPort"]
               for obj in objects if obj["kind"] == "Deployment"
               for container in obj["spec"]["template"]["spec"]["containers"]
               for port in container.get("ports", []) if "name" in port}


def endpoints(service):
    meta = service["metadata"]
    targets = ((p.get("name", ""), p.get("targetPort", p["port"])) for p in service["spec"]["ports"])
    return {
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": meta["name"] + "-process",
                     "namespace": meta.get("namespace", namespace),
                     "labels": {"kubernetes.io/service-name": meta["name"]}},
        "ports": [{"name": name, "protocol": "TCP", "port": named_ports.get(port, port)}
                  for name, port in targets],
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}]}


kept = [obj for obj in objects if obj["kind"] not in ("Deployment", "PodDisruptionBudget")]
kept += [endpoints(obj) for obj in kept if obj["kind"] == "Service"]
yaml.dump_all(kept, sys.stdout, Dumper=Dumper, sort_keys=False)
