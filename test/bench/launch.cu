// SPDX-License-Identifier: MIT
/*
 * launch.cu - a loop of null kernels: launch [-t THREADS] [-n LAUNCHES_PER_THREAD]
 *
 * Prints nanoseconds of wall time per launch and thread, after a warm-up. Each thread has a stream of
 * its own and calls from a dozen frames deep, as programs do.
 */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <unistd.h>

__global__ void null_kernel(int) {}

static volatile int keep;

__attribute__((noinline)) static void launch_deep(int depth, cudaStream_t stream, int nr)
{
	if (depth) {
		launch_deep(depth - 1, stream, nr);
		keep = depth;		/* no tail call */
		return;
	}
	for (int i = 0; i < nr; i++)
		null_kernel<<<1, 32, 0, stream>>>(i);
	cudaStreamSynchronize(stream);
	keep = nr;
}

int main(int argc, char **argv)
{
	int nr_threads = 1, nr = 100000, opt;

	while ((opt = getopt(argc, argv, "t:n:")) != -1)
		(opt == 't' ? nr_threads : nr) = atoi(optarg);
	cudaFree(0);

	auto run = [=](int launches) {
		std::vector<std::thread> threads;
		auto start = std::chrono::steady_clock::now();

		for (int t = 0; t < nr_threads; t++)
			threads.emplace_back([=] {
				cudaStream_t stream;

				cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
				launch_deep(12, stream, launches);
				cudaStreamDestroy(stream);
			});
		for (auto &t : threads)
			t.join();
		return std::chrono::duration<double, std::nano>(
			std::chrono::steady_clock::now() - start).count() / launches;
	};
	run(nr / 10 + 1);
	printf("%.0f\n", run(nr));
	return cudaGetLastError() != cudaSuccess;
}
