// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Part of xpu.bpf.c: reads Python's frames of the current thread, its registers, and a copy of the
 * top of its stack, which xpumerge unwinds.
 */

#define PAGE_BYTES	4096
#define MAX_PAGES	(XPU_STACK_MAX / PAGE_BYTES + 2)
#define REGS_BYTES	(XPU_NR_REGS * sizeof(__u64))
#define PYTHON_BYTES	(XPU_MAX_PYTHON * sizeof(struct xpu_python_frame))
#define LARGEST_STACK	(256ull << 20)	/* a stack end further away belongs to another stack */
#define COPY_BYTES	2048		/* bytes of frames that are read at once */
#define BLOCK_BYTES	128		/* maximum number of bytes to read of a frame or code
					 * object */
#define PYTHON_SCRATCH	sizeof(struct python_copy)
#define MIN(a, b)	((a) < (b) ? (a) : (b))
#define MAX(a, b)	((a) > (b) ? (a) : (b))
#define MAX_TSTATES	256		/* maximum number of threads to search */
#define PYTHON_TS_NEXT	8		/* PyThreadState.next, in all versions */
#define PYTHON_OWNED_BY_CSTACK	3

/* Bytes of the stack to copy, in addition to Python's frames; 0: follow frame pointers instead. */
const volatile __u32 sample_stack_bytes = 0;
const volatile __u32 blind_stack_bytes = 0;	/* bytes to copy if the stack's end is unknown */

/* ---- Python ---------------------------------------------------------------------------------- */

/*
 * Interpreters, keyed by the process image that reported them. The image's forked children use the
 * entry, too.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct xpu_python);
} pythons SEC(".maps");

/*
 * A copy of the target's memory, around a frame. The numbers in this structure must be in a map: if
 * they were on the BPF stack, the verifier would follow each of their possible values.
 */
struct python_copy {
	__u64 start;			/* the address in the target */
	__u32 nr_bytes;
	__u32 frame_bytes;		/* how many bytes of a frame to read */
	__u32 code_from, code_bytes;	/* the part of a code object to read */
	__u8 frames[COPY_BYTES + BLOCK_BYTES];
	__u8 code[BLOCK_BYTES];		/* bytes of a code object */
};

/*
 * The state of walk_python(). Each read of the target's memory costs about 40 ns, whatever its
 * size, so the reads are few and large. The frames of Python 3.11 and later lie close to one
 * another.
 */
struct python_walk {
	const struct xpu_python *py;
	__u32 *nr;
	struct xpu_python_frame *out;
	__u64 *hash;			/* hash of the frames, or NULL */
	struct python_copy *copy;
	__u64 tls;			/* arch_tls() of this thread */
	__u64 tstate, frame, cframe;
};

static __always_inline __u64 read64(__u64 addr)
{
	__u64 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (void *)addr);
	return value;
}

/* Reads a value of 8, 4 or 1 bytes from @block, which has BLOCK_BYTES. */
#define BLOCK_AT(type, block, offset)			\
({							\
	__u32 _at = offset;				\
							\
	BOUND(_at, BLOCK_BYTES - 8);			\
	*(type *)((block) + _at);			\
})

/* Adds @word to two independent hashes. */
static __always_inline void hash_word(__u64 hash[2], __u64 word)
{
	hash[0] = (hash[0] ^ word) * 0x9e3779b97f4a7c15ull;
	hash[0] ^= hash[0] >> 29;
	hash[1] = (hash[1] + word) * 0xc2b2ae3d27d4eb4full;
	hash[1] ^= hash[1] >> 32;
}

/*
 * Adds a frame. Does not hash the stack address of an evaluation loop: the address differs between
 * threads at the same place.
 */
static __always_inline void put_python(struct python_walk *w, __u64 code, __u64 where, __u64 print)
{
	struct xpu_python_frame *out = w->out;
	__u32 n = *w->nr;

	if (n >= XPU_MAX_PYTHON)
		return;
	out[n].code = code;
	out[n].where = where;
	out[n].print = print;
	*w->nr = n + 1;
	if (!w->hash)
		return;
	hash_word(w->hash, code);
	if (code) {
		hash_word(w->hash, where);
		hash_word(w->hash, print);
	}
}

static long find_tstate(__u32 i, struct python_walk *w)
{
	if (!w->tstate || arch_is_self(w->tls, read64(w->tstate + w->py->ts_thread_id)))
		return 1;
	w->tstate = read64(w->tstate + PYTHON_TS_NEXT);
	return 0;
}

/*
 * Return: the offset of @w->frame in the copy. If the frame is not in the copy, copies the memory
 * around it first. On Python's own stack, callers have lower addresses than the frame, and the
 * frame's whole page is readable.
 */
static __always_inline __u32 find_in_copy(struct python_walk *w)
{
	struct python_copy *c = w->copy;
	__u64 frame = w->frame, at = frame - c->start;
	__u32 bytes = c->frame_bytes;

	if (at + bytes <= c->nr_bytes && at < c->nr_bytes)
		return at;
	c->start = frame;
	if (w->py->minor > 10) {
		c->start = frame & -(__u64)PAGE_BYTES;
		if (frame + bytes - c->start > COPY_BYTES)
			c->start = frame + bytes - COPY_BYTES;
	}
	c->nr_bytes = bytes + (frame - c->start);
	bytes = c->nr_bytes;
	BOUND(bytes, COPY_BYTES);
	if (bpf_probe_read_user(c->frames, bytes, (void *)c->start))
		c->nr_bytes = 0;		/* the copy is all zero now */
	return frame - c->start;
}

static long walk_frame(__u32 i, struct python_walk *w)
{
	const struct xpu_python *py = w->py;
	void *frame, *code_block = w->copy->code;
	__u32 at, bytes = w->copy->code_bytes, from = w->copy->code_from;
	__u64 code, where, print = 0;
	bool ends = py->minor == 10;

	if (!w->frame)
		return 1;
	at = find_in_copy(w);
	BOUND(at, COPY_BYTES);
	frame = w->copy->frames + at;
	w->frame = BLOCK_AT(__u64, frame, py->f_previous);
	if (py->minor > 10 && BLOCK_AT(__u8, frame, py->f_owner) == PYTHON_OWNED_BY_CSTACK) {
		put_python(w, 0, w->copy->start + at, 0);
		return 0;
	}
	code = BLOCK_AT(__u64, frame, py->f_code);
	if (py->minor > 10)
		where = BLOCK_AT(__u64, frame, py->f_instr) - (code + py->co_code);
	else
		where = (__s64)BLOCK_AT(__s32, frame, py->f_instr) * (py->minor == 10 ? 2 : 1);
	if (py->minor == 11)
		ends = BLOCK_AT(__u8, frame, py->f_entry);
	BOUND(bytes, BLOCK_BYTES);
	/*
	 * Compute a number that distinguishes a code object from a later one at the same address.
	 */
	if (!bpf_probe_read_user(code_block, bytes, (void *)code + from))
		print = XPU_PYTHON_PRINT(BLOCK_AT(__u64, code_block, py->co_name - from),
					 BLOCK_AT(__u64, code_block, py->co_linetable - from),
					 BLOCK_AT(__u32, code_block, py->co_firstlineno - from));
	put_python(w, code, where, print);
	if (ends) {
		put_python(w, 0, w->cframe, 0);
		w->cframe = read64(w->cframe + py->cframe_previous);
	}
	return 0;
}

/* Sets which bytes of frames and code objects to read. */
static __always_inline void set_blocks(struct python_walk *w)
{
	const struct xpu_python *py = w->py;
	struct python_copy *c = w->copy;
	__u32 from, to;

	c->frame_bytes = MAX(MAX(py->f_previous, py->f_code), MAX(py->f_instr, py->f_owner)) + 8;
	from = MIN(MIN(py->co_name, py->co_linetable), py->co_firstlineno);
	to = MAX(MAX(py->co_name, py->co_linetable), py->co_firstlineno) + 8;
	c->code_from = from;
	c->code_bytes = to - from;
}

/**
 * walk_python - read the Python frames of the current thread, innermost first
 * @proc: the thread's process
 * @nr: must be 0; set to the number of frames. Must be in a map: the verifier would follow each
 *	possible value of a local variable
 * @out: room for XPU_MAX_PYTHON frames, followed by PYTHON_SCRATCH bytes
 * @hash: the hash that the frames are added to, or NULL
 * @tstate: set to the address of this thread's PyThreadState; before the call, an older value or 0
 *
 * The interpreter may be in the middle of a call, so the frames may be inconsistent; the code that
 * finds their names checks them. Needs Linux 5.17.
 */
static __always_inline void walk_python(struct task_struct *task, struct xpu_proc *proc,
					__u32 *nr, struct xpu_python_frame *out, __u64 *hash,
					__u64 *tstate)
{
	struct python_walk w = { .nr = nr, .out = out, .hash = hash };
	__u32 key = proc->proc_id;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		return;
	w.py = bpf_map_lookup_elem(&pythons, &key);
	if (!w.py && proc->python_from) {
		key = proc->python_from;
		w.py = bpf_map_lookup_elem(&pythons, &key);
	}
	if (!w.py)
		return;
	w.copy = (struct python_copy *)(out + XPU_MAX_PYTHON);
	w.copy->start = w.copy->nr_bytes = 0;
	set_blocks(&w);
	/* Find the PyThreadState by the address of the thread's C library data. */
	w.tls = arch_tls(task);
	w.tstate = *tstate;
	if (!w.tstate || !arch_is_self(w.tls, read64(w.tstate + w.py->ts_thread_id))) {
		w.tstate = read64(read64(w.py->runtime + w.py->runtime_main) +
				  w.py->interp_threads);
		bpf_loop(MAX_TSTATES, find_tstate, &w, 0);
	}
	*tstate = w.tstate;
	if (!w.tstate)
		return;
	w.frame = read64(w.tstate + w.py->ts_frame);
	if (w.py->minor == 10)
		w.cframe = read64(w.tstate + w.py->ts_cframe);
	if (w.py->has_cframe) {
		w.cframe = w.frame;
		w.frame = read64(w.cframe + w.py->cframe_frame);
	}
	bpf_loop(XPU_MAX_PYTHON, walk_frame, &w, 0);
}

/* Return: the user-space registers of @task. */
static __always_inline struct pt_regs *user_regs(struct task_struct *task)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (struct pt_regs *)bpf_task_pt_regs(task);
	/* before Linux 5.15 */
	return (struct pt_regs *)(BPF_CORE_READ(task, stack) + 16384) - 1;
}

struct stack_copy {
	__u32 *bytes;
	void *to;
	__u64 sp;
	__u32 max;
};

/*
 * Copies one page of the stack. The copying ends before an unreadable page. Return: 1 to stop
 * copying.
 */
static long copy_page(__u32 i, struct stack_copy *c)
{
	/* volatile: otherwise the verifier of Linux 5.15 follows the number from page to page */
	__u32 bytes = *(volatile __u32 *)c->bytes, n;

	BOUND(bytes, XPU_STACK_MAX);
	if (bytes >= c->max)
		return 1;
	n = PAGE_BYTES - ((c->sp + bytes) & (PAGE_BYTES - 1));
	if (n > c->max - bytes)
		n = c->max - bytes;
	BOUND(n, PAGE_BYTES);
	if (bpf_probe_read_user(c->to + bytes, n, (void *)c->sp + bytes))
		return 1;
	*c->bytes = bytes + n;
	return 0;
}

/*
 * Return: the number of bytes of the stack above @sp, at most @max. The first thread's stack ends
 * at the program's arguments; another thread's stack ends at the data that the C library keeps for
 * the thread.
 */
static __always_inline __u32 stack_size(struct task_struct *task, __u64 sp, __u32 max)
{
	__u64 to_arguments = BPF_CORE_READ(task, mm, start_stack) - sp;
	__u64 to_tls = arch_tls(task) - sp;
	__u64 bytes = to_arguments < to_tls ? to_arguments : to_tls;

	if (bytes > LARGEST_STACK)
		bytes = blind_stack_bytes;
	return bytes < max ? bytes : max;
}

/*
 * Return: how many bytes of @ring a copy of the stack may use, at most @max. As the ring fills up,
 * large copies are cut first.
 */
static __always_inline __u32 stack_room(void *ring, __u32 max)
{
	__u64 room = (bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) -
		      bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA)) / 4;

	return room < max ? room : max;
}

/**
 * copy_stack - copy the registers and the top of the stack, for xpumerge to unwind
 * @task: the current task
 * @to: room for REGS_BYTES, XPU_STACK_MAX and a page
 * @bytes: must be 0; set to the number of copied bytes. Must be in a map, like @nr of walk_python()
 * @max: bytes of the stack to copy, at most XPU_STACK_MAX
 *
 * Return: false if this is not a 64-bit program.
 */
static __always_inline bool copy_stack(struct task_struct *task, void *to, __u32 *bytes, __u32 max)
{
	struct stack_copy c = { .bytes = bytes, .to = to + REGS_BYTES };
	__u64 *r = to, i;	/* Linux 5.15's verifier forgets shorter numbers on the stack */

	if (arch_copy_regs(user_regs(task), r))
		return false;
	c.sp = r[XPU_REG_SP];
	c.max = stack_size(task, c.sp, max);
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		bpf_loop(MAX_PAGES, copy_page, &c, 0);
	else
		for (i = 0; i < MAX_PAGES && !copy_page(i, &c); i++)
			;
	*bytes &= ~7u;
	return true;
}

