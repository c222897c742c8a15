// SPDX-License-Identifier: MIT
/*
 * nccl.cu - ranks that make the NVTX calls of NCCL 2.28 for its operations, with NVIDIA's own NVTX
 * headers
 *
 *	nccl RANKS STEPS SLOW [nonblocking | until FILE]
 *
 * Each rank is a process. In a step it loads a batch, which takes rank SLOW 5 ms longer. Then it
 * launches a kernel, an all-reduce, and a group of two all-reduces. In each third step it also
 * launches a ring: a group of a send to the next rank and a receive from the previous rank. Another
 * ring follows in a communicator that was split off, with the ranks in reverse order. Kernels of
 * one operation end at about the same time. At the end the communicator is destroyed. With
 * "nonblocking" the communicator does not block: its ID is not known yet when the call that makes
 * it returns, and each launch is on its own thread. With "until" a rank prints "ready" on stderr
 * after some steps, and makes STEPS more once FILE exists. Prints how many operations and kernels
 * it made.
 */
#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>
#endif
#ifndef NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID
int main()
{
	return 77;			/* skipped: the installed CUDA headers lack NVTX's payloads,
					 * or name them differently */
}
#else
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels.h"

#define COMM		0x1122334455667788ull
#define SPLIT_COMM	0x99aabbccddeeff00ull
#define SLOW_NS		5000000ull
#define TRANSFER_NS	200000ull

KERNEL(ncclDevKernel_AllReduce)
KERNEL(ncclDevKernel_SendRecv)
KERNEL(k_forward)

struct operation {			/* as in NCCL's nvtx_payload_schemas.h */
	uint64_t comm;
	size_t bytes;
	int peer;
};

struct making {
	uint64_t comm;
	int nr_ranks, rank, device;
};

struct splitting {			/* its ranks are the parent's ranks */
	uint64_t comm, parent;
	int nr_ranks, rank, device, color, key;
};

enum { INIT = 0, DESTROY = 2, ALL_REDUCE = 5, SEND = 9, RECV = 10, SPLIT = 13 };
#define ID(n)	((uint64_t)NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + (n))

#define ENTRY(type, name, s, field)	{ 0, type, name, NULL, 0, offsetof(s, field), NULL, NULL }

static const nvtxPayloadSchemaEntry_t making_entries[] = {
	ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", struct making, comm),
	ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_INT, "No. of ranks", struct making, nr_ranks),
	ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_INT, "Rank", struct making, rank),
	ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_INT, "CUDA device", struct making, device),
};

static const nvtxPayloadSchemaEntry_t splitting_entries[] = {
	ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", struct splitting, comm),
	ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "Parent NCCL communicator ID", struct splitting,
	      parent),
	ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_INT, "No. of ranks", struct splitting, nr_ranks),
	ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_INT, "Rank", struct splitting, rank),
	ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_INT, "CUDA device", struct splitting, device),
	ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_INT, "Color", struct splitting, color),
	ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_INT, "Key", struct splitting, key),
};

static const nvtxPayloadSchemaEntry_t operation_entries[] = {
	ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", struct operation, comm),
	ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]", struct operation, bytes),
	ENTRY(NVTX_PAYLOAD_ENTRY_TYPE_INT, "Peer rank", struct operation, peer),
};

static nvtxDomainHandle_t domain;
static cudaStream_t stream;
static struct shared {
	pthread_barrier_t barrier;
	int nr_steps;
} *shared;
static const char *until;		/* the argument FILE of "until"; or NULL */
static int nr_ranks, rank_nr, slow;
static bool blocking = true;
static pthread_t launcher;

static void register_schema(uint64_t number, const nvtxPayloadSchemaEntry_t *entries, size_t nr,
			    size_t bytes)
{
	nvtxPayloadSchemaAttr_t a;

	memset(&a, 0, sizeof(a));
	a.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
		      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
		      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
		      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
	a.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
	a.entries = entries;
	a.numEntries = nr;
	a.payloadStaticSize = bytes;
	a.schemaId = ID(number);
	nvtxPayloadSchemaRegister(domain, &a);
}

/* Opens an NCCL range. @data: its payload, or NULL */
static void push(const char *name, const nvtxPayloadData_t *data)
{
	nvtxEventAttributes_t a;

	memset(&a, 0, sizeof(a));
	a.version = NVTX_VERSION;
	a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = nvtxDomainRegisterStringA(domain, name);
	if (data) {
		a.payloadType = NVTX_PAYLOAD_TYPE_EXT;
		a.reserved0 = 1;
		a.payload.ullValue = (uintptr_t)data;
	}
	nvtxDomainRangePushEx(domain, &a);
}

static void call_of(uint64_t comm, const char *name, int number, size_t bytes, int peer)
{
	const struct operation op = { comm, bytes, peer };
	const nvtxPayloadData_t data = { ID(number),
					 number == ALL_REDUCE ? sizeof(op.comm) + sizeof(op.bytes) :
					 sizeof(op), &op };

	push(name, &data);
}

static void call(const char *name, int number, size_t bytes, int peer)
{
	call_of(COMM, name, number, bytes, peer);
}

static void pop(void)
{
	nvtxDomainRangePop(domain);
}

static void make_communicator(void)
{
	const struct making making = { blocking ? COMM : 0, nr_ranks, rank_nr, 0 };
	const nvtxPayloadData_t data = { ID(INIT), sizeof(making), &making };

	domain = nvtxDomainCreateA("NCCL");
	register_schema(INIT, making_entries, 4, sizeof(making));
	register_schema(ALL_REDUCE, operation_entries, 2, sizeof(struct operation));
	register_schema(SEND, operation_entries, 3, sizeof(struct operation));
	register_schema(RECV, operation_entries, 3, sizeof(struct operation));
	push("ncclCommInitRank", NULL);
	nvtxRangePopPayload(domain, &data, 1);
}

/* Splits off all ranks, in reverse order. */
static void split_communicator(void)
{
	const struct splitting splitting = { SPLIT_COMM, COMM, nr_ranks, rank_nr, 0, 0, -rank_nr };
	const nvtxPayloadData_t data = { ID(SPLIT), sizeof(splitting), &splitting };

	register_schema(SPLIT, splitting_entries, 7, sizeof(splitting));
	push("ncclCommSplit", NULL);
	nvtxRangePopPayload(domain, &data, 1);
}

static void destroy_communicator(void)
{
	const struct making making = { COMM, nr_ranks, rank_nr, 0 };
	const nvtxPayloadData_t data = { ID(DESTROY), sizeof(making), &making };

	register_schema(DESTROY, making_entries, 4, sizeof(making));
	push("ncclCommDestroy", &data);
	pop();
}

struct nccl_launch {
	bool sends;
	unsigned long long ns;
};

static void *launch_here(void *arg)
{
	const struct nccl_launch *l = (const struct nccl_launch *)arg;

	if (l->sends)
		LAUNCH(ncclDevKernel_SendRecv, stream, l->ns);
	else
		LAUNCH(ncclDevKernel_AllReduce, stream, l->ns);
	return NULL;
}

static struct nccl_launch next_launch;

static void launch_nccl(bool sends, unsigned long long ns)
{
	next_launch.sends = sends;
	next_launch.ns = ns;
	if (blocking)
		launch_here(&next_launch);
	else if (pthread_create(&launcher, NULL, launch_here, &next_launch))
		exit(1);
}

/* Nonblocking: the next call comes only after ncclCommGetAsyncError() has reported this launch. */
static void finish_call(void)
{
	if (!blocking)
		pthread_join(launcher, NULL);
}

/* The slow rank's kernel only transfers; the other ranks' kernels also wait for it. */
static unsigned long long kernel_ns(bool first)
{
	return TRANSFER_NS + (first && rank_nr != slow ? SLOW_NS : 0);
}

static NOINLINE void all_reduce(bool first)
{
	call("ncclAllReduce", ALL_REDUCE, 4096, 0);
	launch_nccl(false, kernel_ns(first));
	pop();
	finish_call();
}

static NOINLINE void group(void)
{
	push("ncclGroupStart", NULL);
	pop();
	call("ncclAllReduce", ALL_REDUCE, 1 << 20, 0);
	pop();
	call("ncclAllReduce", ALL_REDUCE, 1 << 10, 0);
	pop();
	push("ncclGroupEnd", NULL);
	launch_nccl(false, kernel_ns(false));
	pop();
	finish_call();
}

static NOINLINE void ring(void)
{
	push("ncclGroupStart", NULL);
	pop();
	call("ncclSend", SEND, 512, (rank_nr + 1) % nr_ranks);
	pop();
	call("ncclRecv", RECV, 512, (rank_nr + nr_ranks - 1) % nr_ranks);
	pop();
	push("ncclGroupEnd", NULL);
	launch_nccl(true, kernel_ns(false));
	pop();
	finish_call();
}

/* Runs a ring in the communicator that was split off. Each message has a different size. */
static NOINLINE void split_ring(void)
{
	int rank = nr_ranks - 1 - rank_nr;

	push("ncclGroupStart", NULL);
	pop();
	call_of(SPLIT_COMM, "ncclSend", SEND, 256 + rank, (rank + 1) % nr_ranks);
	pop();
	call_of(SPLIT_COMM, "ncclRecv", RECV, 256 + (rank + nr_ranks - 1) % nr_ranks,
		(rank + nr_ranks - 1) % nr_ranks);
	pop();
	push("ncclGroupEnd", NULL);
	launch_nccl(true, kernel_ns(false));
	pop();
	finish_call();
}

static NOINLINE void load_batch(void)
{
	usleep(100 + (rank_nr == slow ? SLOW_NS / 1000 : 0));
	NO_TAIL_CALL();
}

static NOINLINE void forward(void)
{
	LAUNCH(k_forward, stream, 50000ull);
	NO_TAIL_CALL();
}

/* The first rank chooses which step is the last, before the other ranks can reach that step. */
static void look_for_end(int step, int nr_steps)
{
	if (!until || rank_nr)
		return;
	if (step == 5)
		fprintf(stderr, "ready\n");
	if (step > 5 && shared->nr_steps == INT_MAX && !access(until, F_OK))
		shared->nr_steps = step + nr_steps;
}

static int run_rank(int nr_steps)
{
	int i;

	CHECK(cudaStreamCreate(&stream));
	make_communicator();
	if (blocking)
		split_communicator();
	all_reduce(false);
	for (i = 0; i < *(volatile int *)&shared->nr_steps; i++) {
		CHECK(cudaStreamSynchronize(stream));
		look_for_end(i, nr_steps);
		pthread_barrier_wait(&shared->barrier);
		load_batch();
		forward();
		all_reduce(true);
		group();
		if (i % 3 == 0)
			ring();
		if (i % 3 == 0 && blocking)
			split_ring();
	}
	CHECK(cudaStreamSynchronize(stream));
	destroy_communicator();
	return 0;
}

int main(int argc, char **argv)
{
	int nr_steps, nr_rings, status, failed = 0, i;
	pthread_barrierattr_t attr;

	if (argc < 4 || argc > 6)
		return 2;
	blocking = argc != 5 || strcmp(argv[4], "nonblocking");
	until = argc == 6 ? argv[5] : NULL;
	nr_ranks = atoi(argv[1]);
	nr_steps = atoi(argv[2]);
	slow = atoi(argv[3]);
	shared = (struct shared *)mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	shared->nr_steps = until ? INT_MAX : nr_steps;
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->barrier, &attr, nr_ranks);
	for (rank_nr = 0; rank_nr < nr_ranks; rank_nr++) {
		switch (fork()) {
		case -1:
			return 1;
		case 0:
			exit(run_rank(nr_steps));
		default:
			break;
		}
	}
	for (i = 0; i < nr_ranks; i++)
		if (wait(&status) < 0 || status)
			failed = 1;
	nr_steps = shared->nr_steps;
	nr_rings = (nr_steps + 2) / 3 * (blocking ? 2 : 1);
	printf("ops %d kernels %d\n", nr_ranks * (1 + nr_steps * 3 + nr_rings * 2),
	       nr_ranks * (1 + nr_steps * 2 + nr_rings));
	return failed;
}
#endif
