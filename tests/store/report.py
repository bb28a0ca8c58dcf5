"""report.py FILE: reports each line of the file to the job's status server, by upstream's protocol."""
import os
import ssl
import sys
import urllib.request

url, ca, token = (os.environ.get("KUBEFLOW_TRAINER_SERVER_" + name) for name in ("URL", "CA_CERT", "TOKEN"))
context = ssl.create_default_context(cafile=ca) if url.startswith("https:") else None
headers = {"Content-Type": "application/json", "Authorization": "Bearer " + (open(token).read() if token else "")}
for line in open(sys.argv[1]):
    request = urllib.request.Request(url, line.encode(), headers, method="POST")
    urllib.request.urlopen(request, context=context).read()
