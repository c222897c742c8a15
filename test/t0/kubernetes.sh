#!/bin/sh
# SPDX-License-Identifier: MIT
# doc/kubernetes.md: its YAML is valid, and uses only fields that Kubernetes knows and options that
# xpuload has.
. "$XPU_SRC/test/lib/tap.sh"
for python in python3 /usr/bin/python3 ''; do
	[ -z "$python" ] || ! $python -c 'import yaml' 2>/dev/null || break
done
[ -n "$python" ] || skip_all "no PyYAML (Debian: python3-yaml)"
awk '/^```yaml/ { n++; on = 1; next } /^```/ { on = 0 } on { print >("doc" n ".yaml") }' \
	"$XPU_SRC/doc/kubernetes.md"
is "$(echo doc*.yaml)" "doc1.yaml doc2.yaml" "the page has two YAML files"
cat >look.py <<'END'
import sys, yaml

# Names of the API's fields (Kubernetes 1.30), as far as the document uses them; "*": any name.
VOLUME = {"name": 0, "hostPath": {"path": 0, "type": 0}, "emptyDir": {"sizeLimit": 0}}
FROM = {"fieldRef": {"fieldPath": 0}, "secretKeyRef": {"name": 0, "key": 0, "optional": 0}}
CONTAINER = {
    "name": 0, "image": 0, "command": 0, "args": 0, "workingDir": 0,
    "env": {"name": 0, "value": 0, "valueFrom": FROM},
    "securityContext": {"runAsUser": 0, "allowPrivilegeEscalation": 0, "readOnlyRootFilesystem": 0, "privileged": 0,
                        "capabilities": {"add": 0, "drop": 0}, "seccompProfile": {"type": 0}},
    "resources": {"requests": "*", "limits": "*"},
    "volumeMounts": {"name": 0, "mountPath": 0, "readOnly": 0},
}
POD = {"hostPID": 0, "nodeSelector": "*", "restartPolicy": 0, "initContainers": CONTAINER, "containers": CONTAINER,
       "volumes": VOLUME}
META = {"name": 0, "namespace": 0, "labels": "*"}
KINDS = {
    ("apps/v1", "DaemonSet"): {"selector": {"matchLabels": "*"}, "template": {"metadata": META, "spec": POD}},
    ("v1", "Pod"): POD,
}
CAPABILITIES = {"ALL", "BPF", "PERFMON", "SYS_PTRACE", "SYSLOG", "DAC_READ_SEARCH"}


def check(value, known, where):
    if known == "*" or known == 0:
        return
    if isinstance(value, list):
        for i, v in enumerate(value):
            check(v, known, "%s[%d]" % (where, i))
        return
    assert isinstance(value, dict), "%s is no mapping" % where
    for key, v in value.items():
        assert key in known, "%s.%s is not known" % (where, key)
        check(v, known[key], where + "." + key)


def pod(spec):
    volumes = {v["name"] for v in spec["volumes"]}
    for c in spec["containers"] + spec.get("initContainers", []):
        assert {m["name"] for m in c["volumeMounts"]} <= volumes, "a volume is missing"
        caps = c.get("securityContext", {}).get("capabilities", {})
        assert set(caps.get("add", []) + caps.get("drop", [])) <= CAPABILITIES


for name in sys.argv[1:]:
    doc = yaml.safe_load(open(name))
    known = {"apiVersion": 0, "kind": 0, "metadata": META, "spec": KINDS[doc["apiVersion"], doc["kind"]]}
    check(doc, known, name)
    spec = doc["spec"]
    if doc["kind"] == "DaemonSet":
        assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
        spec = spec["template"]["spec"]
        for option in spec["containers"][0]["command"][1:]:
            print(option.split("=")[0])
    pod(spec)
END
$python look.py doc1.yaml doc2.yaml >options 2>err
is $? 0 "Kubernetes knows all fields in the page's files" || diag "$(tail -n 1 err)"
"$XPULOAD" --help >help 2>&1
is "$(while read -r option; do grep -qE -- "(^| )$option( |,|\$)" help ||
	echo "$option"; done <options)" "" \
	"xpuload has the $(wc -l <options) options of the page's commands"
done_testing
