// SPDX-License-Identifier: MIT
/*
 * NVTX ranges made as programs make them, through tables like NVTX's own: each launch is in the
 * ranges that are open on its thread, and ranges that cannot be recorded are counted.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"
#include "listener.h"
#include "nvtx/nvtx_abi.h"
#include "nvtx/ranges.h"
#include "tap.h"
#include "xpu_slot.h"

/* NVIDIA's own headers, where they are installed. */
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define SAME(a, b)	_Static_assert((int)(a) == (int)(b), #a)
#define SAME_FIELD(ours, theirs)						\
	_Static_assert(offsetof(struct nvtx_attributes, ours) ==		\
		       offsetof(nvtxEventAttributes_t, theirs), #ours)
_Static_assert(sizeof(struct nvtx_attributes) == sizeof(nvtxEventAttributes_t), "attributes");
_Static_assert(sizeof(struct nvtx_callbacks) == sizeof(NvtxExportTableCallbacks), "callbacks");
SAME_FIELD(size, size);
SAME_FIELD(color_type, colorType);
SAME_FIELD(color, color);
SAME_FIELD(message_type, messageType);
SAME_FIELD(message, message);
SAME(NVTX_ABI_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(NVTX_ABI_MESSAGE_UNICODE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(NVTX_ABI_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(NVTX_ABI_NO_TRACKING, NVTX_NO_PUSH_POP_TRACKING);
SAME(NVTX_ABI_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(NVTX_ABI_CORE, NVTX_CB_MODULE_CORE);
SAME(NVTX_ABI_CORE2, NVTX_CB_MODULE_CORE2);
SAME(NVTX_ABI_MARK_EX, NVTX_CBID_CORE_MarkEx);
SAME(NVTX_ABI_MARK_A, NVTX_CBID_CORE_MarkA);
SAME(NVTX_ABI_MARK_W, NVTX_CBID_CORE_MarkW);
SAME(NVTX_ABI_START_EX, NVTX_CBID_CORE_RangeStartEx);
SAME(NVTX_ABI_START_A, NVTX_CBID_CORE_RangeStartA);
SAME(NVTX_ABI_START_W, NVTX_CBID_CORE_RangeStartW);
SAME(NVTX_ABI_END, NVTX_CBID_CORE_RangeEnd);
SAME(NVTX_ABI_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
SAME(NVTX_ABI_PUSH_A, NVTX_CBID_CORE_RangePushA);
SAME(NVTX_ABI_PUSH_W, NVTX_CBID_CORE_RangePushW);
SAME(NVTX_ABI_POP, NVTX_CBID_CORE_RangePop);
SAME(NVTX_ABI_DOMAIN_MARK_EX, NVTX_CBID_CORE2_DomainMarkEx);
SAME(NVTX_ABI_DOMAIN_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME(NVTX_ABI_DOMAIN_END, NVTX_CBID_CORE2_DomainRangeEnd);
SAME(NVTX_ABI_DOMAIN_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(NVTX_ABI_DOMAIN_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(NVTX_ABI_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(NVTX_ABI_REGISTER_STRING_W, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME(NVTX_ABI_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
SAME(NVTX_ABI_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);
#endif

int InitializeInjectionNvtx2(nvtx_get_export_table_fn get);

static CUcontext context;
static CUfunction function;
static CUstream stream;

/* ---- NVTX, as a module has it ---------------------------------------------------------------- */

#define NR_CORE		16
#define NR_CORE2	16

static void *core_fns[NR_CORE], *core2_fns[NR_CORE2];
static void *core[NR_CORE + 1], *core2[NR_CORE2 + 1];

static int get_table(int module, void ***table, unsigned int *size)
{
	if (module != NVTX_ABI_CORE && module != NVTX_ABI_CORE2)
		return 0;
	*table = module == NVTX_ABI_CORE ? core : core2;
	*size = module == NVTX_ABI_CORE ? NR_CORE : NR_CORE2;
	return 1;
}

static const void *get_export_table(uint32_t id)
{
	static const struct nvtx_callbacks callbacks = { sizeof(callbacks), get_table };

	return id == NVTX_ABI_TABLE_CALLBACKS ? &callbacks : NULL;
}

static const void *no_export_table(uint32_t id)
{
	(void)id;
	return NULL;
}

static int push(const char *s)
{
	return ((int (*)(const char *))core_fns[NVTX_ABI_PUSH_A])(s);
}

static int push_w(const wchar_t *s)
{
	return ((int (*)(const wchar_t *))core_fns[NVTX_ABI_PUSH_W])(s);
}

static int pop(void)
{
	return ((int (*)(void))core_fns[NVTX_ABI_POP])();
}

static int domain_push(const void *domain, const struct nvtx_attributes *a)
{
	return ((int (*)(const void *, const struct nvtx_attributes *))
		core2_fns[NVTX_ABI_DOMAIN_PUSH_EX])(domain, a);
}

static int domain_pop(const void *domain)
{
	return ((int (*)(const void *))core2_fns[NVTX_ABI_DOMAIN_POP])(domain);
}

static uint64_t start(const char *s)
{
	return ((uint64_t (*)(const char *))core_fns[NVTX_ABI_START_A])(s);
}

static void end(uint64_t id)
{
	((void (*)(uint64_t))core_fns[NVTX_ABI_END])(id);
}

static void mark(const char *s)
{
	((void (*)(const char *))core_fns[NVTX_ABI_MARK_A])(s);
}

static const void *create_domain(const char *s)
{
	return ((const void *(*)(const char *))core2_fns[NVTX_ABI_DOMAIN_CREATE_A])(s);
}

static const void *register_string(const void *domain, const char *s)
{
	return ((const void *(*)(const void *, const char *))
		core2_fns[NVTX_ABI_REGISTER_STRING_A])(domain, s);
}

/* ---- launches -------------------------------------------------------------------------------- */

static uint32_t nr_made;

static void launch(void)
{
	device__launch(function, stream, 1);
	__atomic_fetch_add(&nr_made, 1, __ATOMIC_SEQ_CST);
}

/* Return: the path of range @id, such as "outer;domain:inner". */
static const char *path_of(uint32_t id)
{
	static char text[2][16384];
	static int flip;
	const char *below = NULL;

	for (; id; id = listener.ranges[id].parent) {
		const struct listener_range *r = &listener.ranges[id];

		flip = !flip;
		if (snprintf(text[flip], sizeof(text[flip]), "%s%s%s%s%s", r->domain,
			     *r->domain ? ":" : "", r->name, below ? ";" : "", below ?: "") < 0)
			return NULL;
		below = text[flip];
	}
	return below ?: "";
}

static const char *last_path(void)
{
	listener__wait(&listener.nr_launches, nr_made);
	return path_of(listener.launches[nr_made - 1].range_id);
}

static uint32_t sort_launches(uint32_t from)
{
	listener__settle();
	return listener__sort_launches(from);
}

static void *end_it(void *id)
{
	end((uintptr_t)id);
	return NULL;
}

static void on_thread(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	pthread_create(&thread, NULL, fn, arg);
	pthread_join(thread, NULL);
}

static void *hide_and_seek(void *arg)
{
	(void)arg;
	cuCtxSetCurrent(context);
	push("of a thread");
	launch();
	return NULL;
}

static void *only_ranges(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 1000; i++) {
		push("no launches");
		pop();
	}
	return NULL;
}

/* Pushes a range as a signal handler does, during a launch. */
static void interrupt(void)
{
	if (gettid() != getpid()) {		/* only on the program's threads: the shim's
						 * thread blocks signals */
		listener__interrupt_log = interrupt;
		return;
	}
	push("in a handler");
	device__call_back(0x70000000);
	__atomic_fetch_add(&nr_made, 1, __ATOMIC_SEQ_CST);
	pop();
}

/* Tests that ranges of a child, forked before CUDA is used, are not the parent's. */
static void test_early_fork(void)
{
	int status = -1, level;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		level = push("child");
		_exit(level);
	}
	waitpid(pid, &status, 0);
	is_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0, "a forked child starts with none");
}

static void test_many_names(void)
{
	uint32_t before, i, wrong = 0;
	char name[3000], want[32];

	before = listener__settle();
	push("kept");
	for (i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "name %04u %2900s", i, "");
		push(name);
		launch();
		pop();
	}
	launch();
	pop();
	is_int(sort_launches(before), 2001, "more names than a thread can remember");
	for (i = 0; i < 2000; i++) {
		snprintf(want, sizeof(want), "early;kept;name %04u ", i);
		wrong += strncmp(path_of(listener.launches[before + i].range_id), want,
				 strlen(want)) != 0;
	}
	is_int(wrong, 0, "each launch is in its own");
	is_str(path_of(listener.launches[before + 2000].range_id), "early;kept",
	       "and what stayed open is still the same");
}

static void test_depth(void)
{
	uint64_t dropped = ranges__nr_dropped();
	char name[16];
	int i;

	for (i = 0; i < XPU_RANGE_DEPTH + 10; i++) {
		snprintf(name, sizeof(name), "%d", i);
		push(name);
	}
	launch();
	for (i = 0; i < 12; i++)
		pop();
	launch();
	ok(strstr(last_path(), ";125") && !strstr(last_path(), ";126"),
	   "deeper than is kept: pops match");
	is_int(ranges__nr_dropped() - dropped, 22, "what is deeper is counted");
	for (; i < XPU_RANGE_DEPTH + 10; i++)
		pop();
	is_int(domain_pop(ranges__domain("other")), -2, "pops without a push are ignored");
	launch();
	is_str(last_path(), "early", "and change nothing");
}

static void test_handler(void)
{
	uint64_t dropped = ranges__nr_dropped();
	uint32_t before = listener__settle();
	int i;

	listener__interrupt_log = interrupt;
	push("interrupted");
	for (i = 0; i < XPU_LOG_ENTRIES; i++)
		launch();
	pop();
	is_int(sort_launches(before), XPU_LOG_ENTRIES + 1,
	       "a signal handler that interrupts a launch: all are heard");
	is_int(ranges__nr_dropped() - dropped, 2, "its range is not, and is counted");
	for (i = 0; i < XPU_LOG_ENTRIES + 1; i++)
		if (strcmp(path_of(listener.launches[before + i].range_id), "early;interrupted"))
			break;
	is_int(i, XPU_LOG_ENTRIES + 1, "all are in the range that was interrupted");
}

/* Tests a log that is full for long, because another thread is sending it. */
static void test_held(void)
{
	uint64_t dropped = ranges__nr_dropped();
	uint32_t before = listener__settle(), nr = heard(nr_range_events), nr_before, i, wrong = 0;
	uint64_t last_ns = 0;
	bool opens;

	listener__interrupt_log = listener__hold;
	push("held");
	listener__wait_held();
	for (i = 0; i < 300; i++) {
		push(i % 2 ? "odd" : "even");
		launch();
		pop();
	}
	nr_before = heard(nr_launches) - before;
	ok(nr_before >= 300 - XPU_LOG_ENTRIES,
	   "while the log is being sent: %u of 300 launches heard", nr_before);
	listener__let_go();
	listener__settle();
	pop();
	is_int(sort_launches(before), 300, "in the end all of them");
	for (i = 0; i < 300; i++)
		wrong += strcmp(path_of(listener.launches[before + i].range_id),
				i % 2 ? "early;held;odd" : "early;held;even") != 0;
	is_int(wrong, 0, "each in its range");
	is_int(heard(nr_range_events) - nr, 602, "and all events, too");
	is_int(ranges__nr_dropped() - dropped, 0, "so that none is dropped");
	for (i = nr; i < nr + 602; i++) {
		wrong += listener.range_events[i].time_ns < last_ns;
		opens = i == nr || (i < nr + 601 && (i - nr) % 2);
		wrong += listener.range_events[i].what != (opens ? XPU_RANGE_PUSH : XPU_RANGE_POP);
		last_ns = listener.range_events[i].time_ns;
	}
	is_int(wrong, 0, "in their order");
}

int main(void)
{
	struct nvtx_attributes a = {
		.version = 3, .size = sizeof(a), .color_type = 1, .color = 0xff112233,
		.payload_type = 5,
		.payload = 7,
	};
	const void *domain, *string;
	char longer[10001];
	uint64_t id, other;
	CUmodule module;
	uint32_t before, nr;
	int i;

	for (i = 0; i < NR_CORE; i++)
		core[i] = i ? &core_fns[i] : NULL;
	for (i = 0; i < NR_CORE2; i++)
		core2[i] = i ? &core2_fns[i] : NULL;
	is_int(InitializeInjectionNvtx2(no_export_table), 0, "not NVTX as it is known: refused");
	is_int(InitializeInjectionNvtx2(get_export_table), 1, "NVTX finds the shim");
	is_int(InitializeInjectionNvtx2(get_export_table), 1, "and again, as another module");
	domain = create_domain("net");
	ok(domain && create_domain("net") == domain, "domains of one name are one");

	/* There is no listener. */
	is_int(push("nobody"), -2, "nobody listens: a push does nothing");
	pop();

	/* A listener attaches before CUDA is used. */
	listener__attach();
	listener__want_ranges(true);
	is_int(push("early"), 0, "before CUDA");
	test_early_fork();
	push("closed early");
	pop();
	is_int(heard(nr_ranges), 0, "no probe is called before CUDA");

	device__start(&context, &module, &function);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	launch();
	is_str(last_path(), "early", "a launch in a range that was opened before CUDA");
	listener__settle();
	is_int(heard(nr_range_events), 4, "those events are heard, and that it is still open");
	launch();
	is_str(last_path(), "early", "the next, which is logged");

	is_int(push("one"), 1, "push tells the level");
	launch();
	is_str(last_path(), "early;one", "pushed");
	is_int(push_w(L"zw\x00f6lf \x4e16\x1f600"), 2, "wide characters");
	launch();
	is_str(last_path(), "early;one;zw\xc3\xb6lf \xe4\xb8\x96\xf0\x9f\x98\x80", "are UTF-8");
	is_int(pop(), 2, "pop tells the level");
	string = register_string(domain, "registered");
	a.message_type = NVTX_ABI_MESSAGE_REGISTERED;
	a.message.registered = string;
	is_int(domain_push(domain, &a), 0, "a domain has levels of its own");
	launch();
	is_str(last_path(), "early;one;net:registered", "and a name");
	is_int(pop(), 1, "a pop is of its domain");
	launch();
	is_str(last_path(), "early;net:registered", "the others stay");
	is_int(domain_pop(domain), 0, "until theirs");
	a.size = 8;
	domain_push(domain, &a);
	launch();
	is_str(last_path(), "early;net:", "attributes of no known size: a range without a name");
	domain_pop(domain);
	push(NULL);
	launch();
	is_str(last_path(), "early;", "no name at all");
	pop();

	/* Ranges by start and end: ended out of order, and by another thread. */
	id = start("first");
	other = start("second");
	ok(id && other && id != other, "started");
	launch();
	is_str(last_path(), "early;first;second", "in both");
	end(id);
	end(id);
	end(12345);
	launch();
	is_str(last_path(), "early;second", "the first is ended");
	on_thread(end_it, (void *)(uintptr_t)other);
	launch();
	is_str(last_path(), "early", "the second by another thread");
	for (i = 0; i < 40; i++) {
		id = start("passed on");
		on_thread(end_it, (void *)(uintptr_t)id);
	}
	launch();
	is_str(last_path(), "early", "many of them");

	mark("a mark");
	launch();
	is_str(last_path(), "early", "a mark opens nothing");
	listener__settle();
	nr = heard(nr_range_events);
	is_int(listener.range_events[nr - 1].what, XPU_RANGE_MARK, "it is heard");
	is_str(path_of(listener.range_events[nr - 1].range_id), "early;a mark", "with its name");

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	longer[XPU_RANGE_NAME_MAX - 2] = '\xc3';
	longer[XPU_RANGE_NAME_MAX - 1] = '\xb6';
	push(longer);
	launch();
	is_int(strlen(last_path()), strlen("early;") + XPU_RANGE_NAME_MAX - 2,
	       "a name that is too long is cut, before a character");
	pop();

	test_many_names();
	test_depth();
	test_handler();
	test_held();

	before = listener__settle();
	on_thread(hide_and_seek, NULL);
	listener__settle();
	is_str(path_of(listener.launches[before].range_id), "of a thread",
	       "a thread has its own, which its log has when it ends");
	nr = heard(nr_range_events);
	is_int(listener.range_events[nr - 1].what, XPU_RANGE_SET,
	       "what it leaves open ends with it");
	on_thread(only_ranges, NULL);
	listener__settle();
	is_int(heard(nr_range_events) - nr, 2000, "a thread that launches nothing");

	nr = heard(nr_repeated_ranges);
	listener__hello(true);
	ok(listener__wait(&listener.nr_repeated_ranges, nr + 3),
	   "a second listener is told of the names");
	listener__hello(false);
	nr = heard(nr_range_events);
	is_int(heard(counters.nr_dropped_ranges), ranges__nr_dropped(),
	       "the shim's own count: dropped");

	/* The listener leaves for a while: ranges that were open are forgotten. */
	listener__want_ranges(false);
	listener__detach();
	for (i = 0; i < 10; i++)
		push("unheard");
	listener__settle();
	is_int(heard(counters.nr_ranges), nr, "and heard");
	before = heard(nr_repeated_paths);
	listener__attach();
	listener__want_ranges(true);
	listener__wait(&listener.nr_repeated_paths, before + 1);	/* the shim is awake */
	launch();
	is_str(last_path(), "", "after a time without listeners there are none");
	is_int(pop(), -2, "the end of one that nobody heard of is ignored");
	is_int(push("again"), 0, "then they are as before");
	launch();
	is_str(last_path(), "again", "with their names");

	/* Listeners leave and come back before the shim's thread has noticed. */
	listener__settle();
	listener__want_ranges(false);
	pop();
	listener__want_ranges(true);
	launch();
	is_str(last_path(), "", "what ends meanwhile is not open any more");
	push("after that");
	launch();
	is_str(last_path(), "after that", "and what is opened then is");

	cuStreamSynchronize(stream);
	is_int(heard(nr_bad), 0, "nothing ill-formed was sent");
	cuModuleUnload(module);
	return done_testing();
}
