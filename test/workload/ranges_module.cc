// SPDX-License-Identifier: MIT
/*
 * ranges_module.cc - a library for ranges.cu, with its own copy of NVTX
 */
#include <cuda_runtime_api.h>
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

extern "C" __attribute__((visibility("default"))) void in_module(void (*fn)(cudaStream_t),
								  cudaStream_t stream);

void in_module(void (*fn)(cudaStream_t), cudaStream_t stream)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("other");

	nvtxRangePushA("module");
	fn(stream);
	nvtxRangePop();
	nvtxDomainDestroy(domain);
}
#endif
