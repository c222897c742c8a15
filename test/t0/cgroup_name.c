// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Labels from cgroup names: paths as Docker, containerd, CRI-O, Podman, the kubelet, LXC and Slurm
 * create them, with cgroup v1 and v2, and names that only look similar.
 */
#include <string.h>
#include <unistd.h>

#include "tap.h"
#include "target/cgroup_name.h"

#define ID	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2	"fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID	"01234567-89ab-cdef-0123-456789abcdef"
#define UID_	"01234567_89ab_cdef_0123_456789abcdef"

/* Return: "container|pod|job|step" for the lines of a cgroup file. */
static const char *labels_of(const char *lines)
{
	static char text[1024];
	struct cgroup_labels l = { .job = "" };
	char line[4096];
	size_t len;

	for (; *lines; lines += len + !!lines[len]) {
		len = strcspn(lines, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)len, lines);
		cgroup_labels__add_line(&l, line);
	}
	snprintf(text, sizeof(text), "%s|%s|%s|%s", l.container, l.pod_uid, l.job, l.step);
	return text;
}

static void test_container(void)
{
	struct cgroup_part parent = { "", 0 };
	bool is_id;

	is_str(labels_of("0::/system.slice/docker-" ID ".scope"), ID "|||", "Docker, systemd");
	is_str(labels_of("12:cpu,cpuacct:/docker/" ID "\n1:name=systemd:/docker/" ID), ID "|||",
	       "Docker, cgroup v1");
	is_str(labels_of("0::/docker/" ID "/init.scope"), ID "|||", "a cgroup inside a container");
	is_str(labels_of("0::/machine.slice/libpod-" ID ".scope/container"), ID "|||", "Podman");
	is_str(labels_of("0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
			 ".scope"),
	       ID "|||", "Podman without root");
	is_str(labels_of("0::/lxc.payload.box"), "box|||", "LXC");
	is_str(labels_of("0::/lxc/box"), "box|||", "LXC, cgroup v1");
	is_str(labels_of("0::/machine.slice/machine-debian.scope"), "debian|||", "systemd-nspawn");
	is_str(labels_of("0::/docker/" ID "/kubelet/docker/" ID2), ID2 "|||",
	       "of two containers, the inner container counts");
	cgroup_name__container((struct cgroup_part){ ID, 64 }, parent, &is_id);
	ok(is_id, "64 hexadecimal digits are an id");
	cgroup_name__container((struct cgroup_part){ "lxc.payload.box", 15 }, parent, &is_id);
	ok(!is_id, "a name is not an id");
}

static void test_pod(void)
{
	is_str(labels_of("0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
			 ".slice/cri-containerd-" ID ".scope"),
	       ID "|" UID "||", "containerd, systemd");
	is_str(labels_of("0::/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope"),
	       ID "|" UID "||", "CRI-O, guaranteed");
	is_str(labels_of("11:memory:/kubepods/besteffort/pod" UID "/" ID), ID "|" UID "||",
	       "cgroupfs, best effort");
	is_str(labels_of(
		       "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
		       "kubelet-kubepods-besteffort-pod" UID_ ".slice/cri-containerd-" ID ".scope"),
	       ID "|||", "a kubelet with another prefix: the container without its pod");
	is_str(labels_of("0::/kubepods/pod0123456789abcdef0123456789abcdef/" ID),
	       ID "|0123456789abcdef0123456789abcdef||", "a static pod, whose id has no hyphens");
	is_str(labels_of("0::/podman-thing/pod1"), "|||",
	       "a name that only begins like a pod name is not a pod");
	is_str(labels_of("0::/pod01234567-89ab-cdef-0123-456789abcdeg"), "|||",
	       "a pod's id with a letter that is not hexadecimal is not an id");
}

static void test_slurm(void)
{
	is_str(labels_of("0::/system.slice/slurmstepd.scope/job_4711/step_0/user"
	       "/task_3"), "||4711|0",
	       "Slurm, v2");
	is_str(labels_of("4:cpuset:/slurm/uid_1000/job_4711/step_batch\n"
	       		 "3:freezer:/slurm/uid_1000/job_4711/step_batch"),
	       "||4711|batch", "Slurm, v1, the batch step");
	is_str(labels_of("0::/slurm_node1/uid_0/job_7/step_extern/task_0"), "||7|extern",
	       "Slurm, v1, with a node's name");
	is_str(labels_of("0::/home/job_4711/step_0"), "|||",
	       "Slurm's names outside of Slurm's group are not labels");
	is_str(labels_of("0::/slurm/job_x/step_0"), "|||0",
	       "a job whose number has letters is not a job");
	is_str(labels_of(
		       "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_3/docker/" ID),
	       ID "||4711|0", "a container in a job has both labels");
}

static void test_hostile(void)
{
	char line[8192] = "0::";
	size_t i;

	is_str(labels_of(""), "|||", "an empty text has no labels");
	is_str(labels_of("0::/"), "|||", "the root cgroup has no labels");
	is_str(labels_of("0::"), "|||", "an empty path has no labels");
	is_str(labels_of("garbage"), "|||", "an invalid line has no labels");
	is_str(labels_of("0::////"), "|||", "a path without names has no labels");
	is_str(labels_of("0::/lxc.payload.\x01\x02"), "|||",
	       "a name with control characters is no label");
	is_str(labels_of("0::/docker/" ID "0"), "|||",
	       "an id with one digit too many is not an id");
	is_str(labels_of("0::/slurm/job_99999999999999999999999999999999999999"), "|||",
	       "a number that does not fit is not a label");
	memset(line + 3, 'x', 5000);
	memcpy(line + 3, "/lxc.payload.", 13);
	is_str(labels_of(line), "|||", "a name of 5000 characters is no label");
	for (i = 3; i < sizeof(line) - 3; i += 2)
		memcpy(line + i, "/a", 3);
	is_str(labels_of(line), "|||", "a path of 4000 levels has no labels");
}

int main(void)
{
	struct cgroup_labels l;

	test_container();
	test_pod();
	test_slurm();
	test_hostile();
	is_int(cgroup_labels__read(&l, getpid()), 0, "labels of this process are read");
	ok(cgroup_labels__read(&l, 0x7fffffff) < 0, "labels of no process are not read");
	return done_testing();
}
