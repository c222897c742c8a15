// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Part of xpu.bpf.c: distinguishes the native stacks of blocked threads without unwinding them. It
 * compares the words on the stack that point behind a call instruction. These words include all
 * return addresses. They also include stale return addresses, which at worst make one stack count
 * as two.
 *
 * The search for these words runs once for each place. A place is a stack pointer and an
 * instruction. When a thread is at a place again and all those words are unchanged, its callers are
 * unchanged, too: from the innermost function outward, each return address determines where the
 * next one is. Only the top PLACE_BYTES of the stack are compared.
 */

#define PLACE_BYTES	4096		/* bytes at the top of the stack that are read */
#define PLACE_RETURNS	48		/* maximum number of return addresses in these bytes */

struct off_place_key {
	__u32 proc_id;
	__u32 reserved;
	__u64 sp, ip;
};

struct off_place {
	__u64 hash[2];			/* hash of ret[] */
	__u32 nr;
	__u32 at[PLACE_RETURNS];	/* the offset of each return address in these bytes */
	__u64 ret[PLACE_RETURNS];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 13);
	__type(key, struct off_place_key);
	__type(value, struct off_place);
} off_places SEC(".maps");

/* Kept in the scratch memory of this CPU. */
struct place_scratch {
	__u8 top[PLACE_BYTES + PAGE_BYTES];
	struct off_place place;
};

struct place_scan {
	struct place_scratch *scratch;
	__u64 sp;
	__u32 bytes;
};

static long scan_word(__u32 i, struct place_scan *s)
{
	struct off_place *p = &s->scratch->place;
	__u32 at = i * sizeof(__u64), nr = p->nr;
	__u64 word, ret;

	BOUND(at, PLACE_BYTES);
	if (at >= s->bytes || nr >= PLACE_RETURNS)
		return 1;
	word = *(__u64 *)(s->scratch->top + at);
	/* Skip words that are not addresses in user space, or are addresses in the stack itself. */
	ret = arch_strip(word);
	if (ret < PAGE_BYTES || ret >> USER_BITS ||
	    ret - s->sp + LARGEST_STACK < 2 * LARGEST_STACK || !follows_call(ret))
		return 0;
	p->at[nr] = at;
	p->ret[nr] = word;
	p->nr = nr + 1;
	hash_word(p->hash, ret);
	return 0;
}

/* Whether the top of the stack has the words of @p, at the same offsets. */
static __always_inline bool same_place(const struct off_place *p, const struct place_scratch *s,
				       __u32 bytes)
{
	__u32 i, at;

	for (i = 0; i < PLACE_RETURNS && i < p->nr; i++) {
		at = p->at[i];
		BOUND(at, PLACE_BYTES);
		if (at >= bytes || *(__u64 *)(s->top + at) != p->ret[i])
			return false;
	}
	return true;
}

/**
 * hash_place - add the current thread's place in its program to a hash
 * @task: the current task, of a 64-bit program
 * @s: scratch memory
 * @exact: also hash the instruction. False for a preempted thread: it stops at arbitrary
 *	instructions, and each would count as another stack
 * @hash: the hash to add to
 */
static __always_inline void hash_place(struct task_struct *task, __u32 proc_id,
				       struct place_scratch *s, bool exact, __u64 *hash)
{
	struct pt_regs *regs = user_regs(task);
	struct off_place_key key = {
		.proc_id = proc_id, .sp = arch_sp(regs), .ip = arch_ip(regs),
	};
	struct place_scan scan = { .scratch = s, .sp = key.sp };
	__u32 bytes = stack_size(task, key.sp, PLACE_BYTES), first;
	struct off_place *p;

	/* The stack beyond the next page may not be mapped yet. */
	first = PAGE_BYTES - (key.sp & (PAGE_BYTES - 1));
	if (first > bytes)
		first = bytes;
	BOUND(first, PAGE_BYTES);
	if (bpf_probe_read_user(s->top, first, (void *)key.sp))
		return;
	bytes -= first;
	BOUND(bytes, PAGE_BYTES);
	if (bpf_probe_read_user(s->top + first, bytes, (void *)key.sp + first))
		bytes = 0;
	scan.bytes = (first + bytes) & ~7u;
	if (exact)
		hash_word(hash, key.ip);
	p = bpf_map_lookup_elem(&off_places, &key);
	if (!p || !same_place(p, s, scan.bytes)) {
		p = &s->place;
		p->hash[0] = p->hash[1] = p->nr = 0;
		bpf_loop(PLACE_BYTES / sizeof(__u64), scan_word, &scan, 0);
		bpf_map_update_elem(&off_places, &key, p, BPF_ANY);
	}
	hash_word(hash, p->hash[0]);
	hash_word(hash, p->hash[1]);
}
