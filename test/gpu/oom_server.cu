// SPDX-License-Identifier: MIT
/*
 * oom_server.cu - imitates the memory use of a C++ language model server: weights, workspaces, and
 * a cache for each conversation, until the GPU's memory is full
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))
#define NR_PAGES 64	/* maximum per conversation */
#define NR_LAYERS 32

static size_t total;			/* bytes of the device that are free at the start */

struct Tensor {
	void *data = nullptr;

	NOINLINE explicit Tensor(size_t bytes)
	{
		cudaError_t err = cudaMalloc(&data, bytes);

		if (err) {
			fprintf(stderr, "oom_server: %zu bytes: %s\n", bytes,
				cudaGetErrorString(err));
			exit(1);
		}
	}
};

struct Attention {
	Tensor qkv, out;

	NOINLINE Attention() : qkv(total / 800), out(total / 2400) {}
};

struct FeedForward {
	Tensor up, down;

	NOINLINE FeedForward() : up(total / 500), down(total / 500) {}
};

struct Layer {
	Attention attention;
	FeedForward feed_forward;
};

struct Model {
	std::vector<Layer> layers;
	std::vector<Tensor> workspaces;

	NOINLINE void load_weights()
	{
		layers.reserve(NR_LAYERS);
		for (int i = 0; i < NR_LAYERS; i++)
			layers.emplace_back();
	}

	NOINLINE void reserve_workspaces()
	{
		workspaces.reserve(4);
		for (int i = 0; i < 4; i++)
			workspaces.emplace_back(total / 60);
	}
};

struct Conversation {
	std::vector<Tensor> pages;
};

struct Server {
	Model model;
	std::vector<Conversation> conversations;

	NOINLINE void extend_cache(Conversation &c, size_t bytes)
	{
		c.pages.emplace_back(bytes);
	}

	NOINLINE void prefill(Conversation &c)
	{
		for (int i = 0; i < 8; i++)
			extend_cache(c, total / 1500);
	}

	NOINLINE void decode(Conversation &c)
	{
		for (int i = 0; i < 4; i++)
			extend_cache(c, total / 3000);
	}

	NOINLINE void handle_request(size_t nr)
	{
		if (!(nr % 3)) {
			conversations.emplace_back();		/* conversations never end */
			conversations.back().pages.reserve(NR_PAGES);
		}
		Conversation &c = conversations.back();

		if (!(nr % 3))
			prefill(c);
		decode(c);
	}

	NOINLINE void serve()
	{
		for (size_t nr = 0;; nr++)
			handle_request(nr);
	}
};

int main()
{
	Server server;
	size_t all;

	if (cudaMemGetInfo(&total, &all))
		return 2;
	server.model.load_weights();
	server.model.reserve_workspaces();
	server.serve();
}
