// SPDX-License-Identifier: MIT
/*
 * torch_c10.cc - replaces PyTorch's libc10.so: has the function that the allocator reports to
 */
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace c10 {

struct Device {
	int8_t type, index;
};

std::atomic<long> nr_reports;

#ifdef OTHER_ABI
/* A form of the function that a version of PyTorch may have, but the shim does not know. */
__attribute__((visibility("default"))) void reportMemoryUsageToProfiler(void *, int64_t, size_t,
									size_t, size_t, Device)
#else
__attribute__((visibility("default"))) void reportMemoryUsageToProfiler(void *, int64_t, size_t,
									size_t, Device)
#endif
{
	nr_reports++;
}

} // namespace c10

extern "C" __attribute__((visibility("default"))) long fake_nr_reports(void)
{
	return c10::nr_reports;
}
