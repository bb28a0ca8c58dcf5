"""report.py PERCENT [NAMESPACE/TRAINJOB]: reports a job's progress as the SDK does; prints the
answer's code. With a second argument another job's, with the token of this one's pod."""
import datetime
import json
import os
import ssl
import sys
import urllib.error
import urllib.request

url = os.environ["KUBEFLOW_TRAINER_SERVER_URL"]
if len(sys.argv) > 2:
    namespace, name = sys.argv[2].split("/")
    url = url.partition("/namespaces/")[0] + f"/namespaces/{namespace}/trainjobs/{name}/status"
with open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"], encoding="ascii") as file:
    token = file.read()
status = {"progressPercentage": int(sys.argv[1]),
          "lastUpdatedTime": datetime.datetime.now(datetime.timezone.utc).isoformat()}
request = urllib.request.Request(
    url, method="POST",
    data=json.dumps({"trainerStatus": status}).encode(),
    headers={"Authorization": "Bearer " + token, "Content-Type": "application/json"})
trusted = ssl.create_default_context(cafile=os.environ["KUBEFLOW_TRAINER_SERVER_CA_CERT"])
try:
    with urllib.request.urlopen(request, context=trusted, timeout=30) as answer:
        print(answer.status, flush=True)
except urllib.error.HTTPError as refusal:
    print(refusal.code, refusal.read().decode(), flush=True)
