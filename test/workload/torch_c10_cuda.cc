// SPDX-License-Identifier: MIT
/*
 * torch_c10_cuda.cc - replaces PyTorch's libc10_cuda.so: an allocator that cuts blocks from
 * segments
 *
 * Like PyTorch's allocator, it rounds sizes up to 512 bytes. It calls cudaMalloc() for segments of
 * 2 MB, of 20 MB, or, for a large block, of the block's size, rounded up to a multiple of 2 MB. If
 * the allocator is expandable, it instead maps physical memory in pieces of 2 MB, right after its
 * earlier memory. The allocator holds its lock while it reports a block.
 */
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <list>
#include <map>
#include <mutex>

#include <cuda.h>
#include <cuda_runtime.h>

#define EXPORT	extern "C" __attribute__((visibility("default")))
#define MB	((size_t)1 << 20)
#define CHUNK	(2 * MB)
#define RESERVED ((size_t)1 << 34)

namespace c10 {
struct Device {
	int8_t type, index;
};
#ifdef OTHER_ABI
void reportMemoryUsageToProfiler(void *, int64_t, size_t, size_t, size_t, Device);
#else
void reportMemoryUsageToProfiler(void *, int64_t, size_t, size_t, Device);
#endif
} // namespace c10

#define MAX_DEVICES	8

static bool expandable;

static struct {
	CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
			   unsigned long long);
	CUresult (*release)(CUmemGenericAllocationHandle);
	CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
	CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle,
			unsigned long long);
	CUresult (*unmap)(CUdeviceptr, size_t);
} cu;

/* Each device has one allocator. */
struct allocator {
	std::mutex lock;
	std::map<char *, size_t> free_blocks, used_blocks, segments;
	std::map<char *, CUmemGenericAllocationHandle> chunks;
	char *next_chunk;
	size_t allocated, reserved, most_allocated, most_reserved;

	int device() const;
	void report(void *at, int64_t bytes) const;
	void add_free(char *at, size_t bytes);
	bool add_segment(size_t bytes);
	char *take_free(size_t bytes);
	void empty_cache();
};

static allocator of[MAX_DEVICES];

int allocator::device() const
{
	return (int)(this - of);
}

EXPORT bool fake_init(bool want_expandable)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	CUdeviceptr at;

	expandable = want_expandable;
	*(void **)&cu.create = dlsym(cuda, "cuMemCreate");
	*(void **)&cu.release = dlsym(cuda, "cuMemRelease");
	*(void **)&cu.reserve = dlsym(cuda, "cuMemAddressReserve");
	*(void **)&cu.map = dlsym(cuda, "cuMemMap");
	*(void **)&cu.unmap = dlsym(cuda, "cuMemUnmap");
	if (!cu.create || !cu.release || !cu.reserve || !cu.map || !cu.unmap)
		return false;
	for (auto &a : of) {
		if (expandable && cu.reserve(&at, RESERVED, 0, 0, 0))
			return false;
		a.next_chunk = expandable ? (char *)at : nullptr;
	}
	return true;
}

void allocator::report(void *at, int64_t bytes) const
{
	const c10::Device where = { 1, (int8_t)device() };

#ifdef OTHER_ABI
	c10::reportMemoryUsageToProfiler(at, bytes, allocated, reserved, 0, where);
#else
	c10::reportMemoryUsageToProfiler(at, bytes, allocated, reserved, where);
#endif
}

void allocator::add_free(char *at, size_t bytes)
{
	auto behind = free_blocks.lower_bound(at);

	if (behind != free_blocks.end() && at + bytes == behind->first &&
	    !segments.count(behind->first)) {
		bytes += behind->second;
		behind = free_blocks.erase(behind);
	}
	if (behind != free_blocks.begin() && !segments.count(at)) {
		auto before = std::prev(behind);

		if (before->first + before->second == at) {
			before->second += bytes;
			return;
		}
	}
	free_blocks[at] = bytes;
}

__attribute__((noinline)) bool allocator::add_segment(size_t bytes)
{
	size_t size = bytes < MB ? 2 * MB : bytes < 10 * MB ? 20 * MB :
		      (bytes + 2 * MB - 1) / (2 * MB) * 2 * MB;
	CUmemAllocationProp prop = {};
	CUmemGenericAllocationHandle handle;
	void *at;

	if (!expandable) {
		if (cudaSetDevice(device()) || cudaMalloc(&at, size))
			return false;
		segments[(char *)at] = size;
		reserved += size;
		add_free((char *)at, size);
		return true;
	}
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	prop.location.id = device();
	for (size = (bytes + CHUNK - 1) / CHUNK * CHUNK; size; size -= CHUNK, next_chunk += CHUNK) {
		if (cu.create(&handle, CHUNK, &prop, 0) ||
		    cu.map((CUdeviceptr)next_chunk, CHUNK, 0, handle, 0))
			return false;
		chunks[next_chunk] = handle;
		reserved += CHUNK;
		add_free(next_chunk, CHUNK);
	}
	return true;
}

char *allocator::take_free(size_t bytes)
{
	for (auto &b : free_blocks) {
		char *at = b.first;
		size_t rest = b.second - bytes;

		if (b.second < bytes)
			continue;
		free_blocks.erase(at);
		if (rest)
			free_blocks[at + bytes] = rest;
		return at;
	}
	return nullptr;
}

EXPORT __attribute__((noinline)) void *fake_alloc(int device, size_t bytes)
{
	allocator &a = of[device];
	std::lock_guard<std::mutex> guard(a.lock);
	char *at;

	bytes = (bytes + 511) & ~(size_t)511;
	at = a.take_free(bytes);
	if (!at && a.add_segment(bytes))
		at = a.take_free(bytes);
	if (!at)
		return nullptr;
	a.used_blocks[at] = bytes;
	a.allocated += bytes;
	a.most_allocated = a.allocated > a.most_allocated ? a.allocated : a.most_allocated;
	a.most_reserved = a.reserved > a.most_reserved ? a.reserved : a.most_reserved;
	a.report(at, bytes);
	return at;
}

EXPORT __attribute__((noinline)) void fake_free(int device, void *at)
{
	allocator &a = of[device];
	std::lock_guard<std::mutex> guard(a.lock);
	size_t bytes = a.used_blocks[(char *)at];

	a.used_blocks.erase((char *)at);
	a.allocated -= bytes;
	a.add_free((char *)at, bytes);
	a.report(at, -(int64_t)bytes);
}

/* Frees the segments without blocks. */
__attribute__((noinline)) void allocator::empty_cache()
{
	std::lock_guard<std::mutex> guard(lock);

	for (auto s = segments.begin(); s != segments.end();) {
		auto b = free_blocks.find(s->first);

		if (b == free_blocks.end() || b->second < s->second) {
			++s;
			continue;
		}
		free_blocks.erase(b);
		cudaFree(s->first);
		reserved -= s->second;
		s = segments.erase(s);
	}
	for (auto c = chunks.begin(); c != chunks.end();) {
		auto b = free_blocks.upper_bound(c->first);

		if (b == free_blocks.begin() || (--b)->first + b->second < c->first + CHUNK) {
			++c;
			continue;
		}
		char *from = b->first;
		size_t bytes = b->second;

		free_blocks.erase(b);
		if (from < c->first)
			free_blocks[from] = c->first - from;
		if (from + bytes > c->first + CHUNK)
			free_blocks[c->first + CHUNK] = from + bytes - c->first - CHUNK;
		cu.unmap((CUdeviceptr)c->first, CHUNK);
		cu.release(c->second);
		reserved -= CHUNK;
		c = chunks.erase(c);
	}
}

EXPORT void fake_empty_cache(void)
{
	for (auto &a : of)
		a.empty_cache();
}

EXPORT void fake_totals(int device, size_t totals[4])
{
	allocator &a = of[device];
	std::lock_guard<std::mutex> guard(a.lock);

	totals[0] = a.allocated;
	totals[1] = a.reserved;
	totals[2] = a.most_allocated;
	totals[3] = a.most_reserved;
}
