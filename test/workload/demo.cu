// SPDX-License-Identifier: MIT
/*
 * demo.cu - a program that makes an interesting profile: an inference server that also trains
 *
 *	demo [-s SECONDS]
 *
 * Request threads alternate between the tokenizer, which costs CPU time, and the model, which costs
 * GPU time. One thread trains, another one loads its data. Kernels take as long as a real layer
 * would. The flame graph has wide and narrow towers, and one tower is wide by mistake (see
 * softmax()).
 *
 * As in all workloads, only the function NAME launches kernel k_NAME.
 */
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "kernels.h"

#define US	1000ull

KERNEL(k_embed)
KERNEL(k_qkv)
KERNEL(k_scores)
KERNEL(k_softmax)
KERNEL(k_project)
KERNEL(k_up)
KERNEL(k_gelu)
KERNEL(k_down)
KERNEL(k_norm)
KERNEL(k_logits)
KERNEL(k_sample)
KERNEL(k_decode_image)
KERNEL(k_augment)
KERNEL(k_loss)
KERNEL(k_backward)
KERNEL(k_adam)

typedef std::chrono::steady_clock steady;

static steady::time_point end_time;

static bool running()
{
	return steady::now() < end_time;
}

/* Uses CPU time in the caller's frame. */
static inline __attribute__((always_inline)) void work_for(int us)
{
	volatile uint64_t hash = 14695981039346656037ull;
	steady::time_point until = steady::now() + std::chrono::microseconds(us);

	do {
		for (int i = 0; i < 500; i++)
			hash = (hash ^ (uint64_t)i) * 1099511628211ull;
	} while (steady::now() < until);
}

struct half_t {};

namespace model
{

/* T appears only in the kernels' names, as in a real model. */
template <typename T>
class transformer_layer {
public:
	explicit transformer_layer(int index) : index_(index)
	{
	}

	NOINLINE void forward(cudaStream_t s, int nr_tokens)
	{
		norm(s, nr_tokens);
		attention(s, nr_tokens);
		norm(s, nr_tokens);
		mlp(s, nr_tokens);
		NO_TAIL_CALL();
	}

private:
	NOINLINE void norm(cudaStream_t s, int nr_tokens)
	{
		LAUNCH(k_norm, s, 2 * US + 20 * nr_tokens);
		NO_TAIL_CALL();
	}

	NOINLINE void qkv(cudaStream_t s, int nr_tokens)
	{
		LAUNCH(k_qkv, s, 15 * US + 200 * nr_tokens);
		NO_TAIL_CALL();
	}

	NOINLINE void scores(cudaStream_t s, int nr_tokens)
	{
		LAUNCH(k_scores, s, 8 * US + 300 * nr_tokens);
		NO_TAIL_CALL();
	}

	/*
	 * The first layer's softmax takes ten times as long, so that a profile has something to
	 * find.
	 */
	NOINLINE void softmax(cudaStream_t s, int nr_tokens)
	{
		LAUNCH(k_softmax, s, (4 * US + 50 * nr_tokens) * (index_ ? 1 : 10));
		NO_TAIL_CALL();
	}

	NOINLINE void project(cudaStream_t s, int nr_tokens)
	{
		LAUNCH(k_project, s, 6 * US + 100 * nr_tokens);
		NO_TAIL_CALL();
	}

	NOINLINE void attention(cudaStream_t s, int nr_tokens)
	{
		qkv(s, nr_tokens);
		scores(s, nr_tokens);
		softmax(s, nr_tokens);
		project(s, nr_tokens);
		NO_TAIL_CALL();
	}

	NOINLINE void up(cudaStream_t s, int nr_tokens)
	{
		LAUNCH(k_up, s, 20 * US + 300 * nr_tokens);
		NO_TAIL_CALL();
	}

	NOINLINE void gelu(cudaStream_t s, int nr_tokens)
	{
		LAUNCH(k_gelu, s, 3 * US + 20 * nr_tokens);
		NO_TAIL_CALL();
	}

	NOINLINE void down(cudaStream_t s, int nr_tokens)
	{
		LAUNCH(k_down, s, 20 * US + 300 * nr_tokens);
		NO_TAIL_CALL();
	}

	NOINLINE void mlp(cudaStream_t s, int nr_tokens)
	{
		up(s, nr_tokens);
		gelu(s, nr_tokens);
		down(s, nr_tokens);
		NO_TAIL_CALL();
	}

	int index_;
};

template <typename T>
class transformer {
public:
	explicit transformer(int nr_layers)
	{
		for (int i = 0; i < nr_layers; i++)
			layers_.emplace_back(i);
	}

	NOINLINE void forward(cudaStream_t s, int nr_tokens)
	{
		embed(s, nr_tokens);
		for (auto &layer : layers_)
			layer.forward(s, nr_tokens);
		logits(s, nr_tokens);
		NO_TAIL_CALL();
	}

private:
	NOINLINE void embed(cudaStream_t s, int nr_tokens)
	{
		LAUNCH(k_embed, s, 3 * US + 30 * nr_tokens);
		NO_TAIL_CALL();
	}

	NOINLINE void logits(cudaStream_t s, int nr_tokens)
	{
		LAUNCH(k_logits, s, 30 * US + 100 * nr_tokens);
		NO_TAIL_CALL();
	}

	std::vector<transformer_layer<T>> layers_;
};

} /* namespace model */

namespace serving
{

class tokenizer {
public:
	NOINLINE int encode(int request)
	{
		split(request);
		merge_pairs(request);
		NO_TAIL_CALL();
		return 32 + request * 37 % 96;
	}

	NOINLINE void decode()
	{
		work_for(60);
	}

private:
	NOINLINE void split(int request)
	{
		work_for(150 + request % 7 * 20);
	}

	NOINLINE void merge_pairs(int request)
	{
		work_for(500 + request % 5 * 150);
	}
};

class server {
public:
	server() : model_(12), nr_requests(0)
	{
	}

	/* Handles one request: a prompt in, a few tokens out. */
	NOINLINE void handle(int request, cudaStream_t s, int *device, int *host)
	{
		int nr_tokens = tokenizer_.encode(request);

		upload(device, host, nr_tokens, s);
		model_.forward(s, nr_tokens);
		for (int i = 0; i < 4; i++) {
			model_.forward(s, 1);
			sample(s);
			download(host, device, s);
			CHECK(cudaStreamSynchronize(s));
			tokenizer_.decode();
		}
		nr_requests++;
	}

	void run(int worker)
	{
		int *device, *host;
		cudaStream_t s;

		CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
		CHECK(cudaMalloc((void **)&device, 4096));
		CHECK(cudaMallocHost((void **)&host, 4096));
		for (int request = worker; running(); request++)
			handle(request, s, device, host);
		CHECK(cudaStreamDestroy(s));
		CHECK(cudaFreeHost(host));
		CHECK(cudaFree(device));
	}

private:
	NOINLINE void upload(int *device, const int *host, int nr_tokens, cudaStream_t s)
	{
		CHECK(cudaMemcpyAsync(device, host, (size_t)nr_tokens * sizeof(int),
				      cudaMemcpyHostToDevice, s));
		NO_TAIL_CALL();
	}

	NOINLINE void download(int *host, const int *device, cudaStream_t s)
	{
		CHECK(cudaMemcpyAsync(host, device, sizeof(int), cudaMemcpyDeviceToHost, s));
		NO_TAIL_CALL();
	}

	NOINLINE void sample(cudaStream_t s)
	{
		LAUNCH(k_sample, s, 5 * US);
		NO_TAIL_CALL();
	}

	tokenizer tokenizer_;
	model::transformer<half_t> model_;

public:
	std::atomic<int> nr_requests;
};

} /* namespace serving */

namespace training
{

/* The loader passes batches to the trainer by two events. */
struct batch_slot {
	char *device;
	char *host;
	cudaEvent_t loaded;
	cudaEvent_t used;
	std::atomic<int> state{0};	/* 0: empty, 1: full */
};

static const size_t batch_bytes = 4 << 20;

class data_loader {
public:
	explicit data_loader(batch_slot *slot) : nr_batches(0), slot_(slot)
	{
	}

	void run()
	{
		CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
		while (running()) {
			read_files();
			while (slot_->state.load() && running())
				usleep(500);
			if (!running())
				break;
			CHECK(cudaStreamWaitEvent(stream_, slot_->used, 0));
			copy_batch();
			decode_image();
			augment();
			CHECK(cudaEventRecord(slot_->loaded, stream_));
			slot_->state.store(1);
			nr_batches++;
		}
		CHECK(cudaStreamSynchronize(stream_));
		CHECK(cudaStreamDestroy(stream_));
	}

	int nr_batches;

private:
	NOINLINE void read_files()
	{
		work_for(1500);
	}

	NOINLINE void copy_batch()
	{
		CHECK(cudaMemcpyAsync(slot_->device, slot_->host, batch_bytes,
				      cudaMemcpyHostToDevice, stream_));
		NO_TAIL_CALL();
	}

	NOINLINE void decode_image()
	{
		LAUNCH(k_decode_image, stream_, 400 * US);
		NO_TAIL_CALL();
	}

	NOINLINE void augment()
	{
		LAUNCH(k_augment, stream_, 120 * US);
		NO_TAIL_CALL();
	}

	batch_slot *slot_;
	cudaStream_t stream_;
};

class trainer {
public:
	explicit trainer(batch_slot *slot) : nr_steps(0), slot_(slot), model_(6)
	{
	}

	void run()
	{
		CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
		CHECK(cudaMalloc((void **)&gradients_, batch_bytes));
		while (running()) {
			if (!slot_->state.load()) {
				usleep(500);
				continue;
			}
			step();
			slot_->state.store(0);
			nr_steps++;
		}
		CHECK(cudaStreamSynchronize(stream_));
		CHECK(cudaFree(gradients_));
		CHECK(cudaStreamDestroy(stream_));
	}

	int nr_steps;

private:
	NOINLINE void step()
	{
		CHECK(cudaStreamWaitEvent(stream_, slot_->loaded, 0));
		zero_gradients();
		model_.forward(stream_, 64);
		loss();
		for (int i = 0; i < 6; i++)
			backward(i);
		CHECK(cudaEventRecord(slot_->used, stream_));
		adam();
		CHECK(cudaStreamSynchronize(stream_));
	}

	NOINLINE void zero_gradients()
	{
		CHECK(cudaMemsetAsync(gradients_, 0, batch_bytes, stream_));
		NO_TAIL_CALL();
	}

	NOINLINE void loss()
	{
		LAUNCH(k_loss, stream_, 25 * US);
		NO_TAIL_CALL();
	}

	NOINLINE void backward(int layer)
	{
		LAUNCH(k_backward, stream_, 250 * US + 10 * US * (unsigned int)layer);
		NO_TAIL_CALL();
	}

	NOINLINE void adam()
	{
		LAUNCH(k_adam, stream_, 300 * US);
		NO_TAIL_CALL();
	}

	batch_slot *slot_;
	model::transformer<float> model_;
	cudaStream_t stream_;
	char *gradients_;
};

} /* namespace training */

static void name_thread(const char *name)
{
	pthread_setname_np(pthread_self(), name);
}

int main(int argc, char **argv)
{
	training::batch_slot slot;
	std::vector<std::thread> threads;
	double seconds = 2;
	int opt;

	while ((opt = getopt(argc, argv, "s:")) != -1) {
		if (opt != 's') {
			fputs("usage: demo [-s SECONDS]\n", stderr);
			return 2;
		}
		seconds = atof(optarg);
	}
	CHECK(cudaMalloc((void **)&slot.device, training::batch_bytes));
	CHECK(cudaMallocHost((void **)&slot.host, training::batch_bytes));
	CHECK(cudaEventCreateWithFlags(&slot.loaded, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&slot.used, cudaEventDisableTiming));
	end_time = steady::now() + std::chrono::microseconds((long)(seconds * 1e6));

	serving::server server;
	training::data_loader loader(&slot);
	training::trainer trainer(&slot);

	for (int i = 0; i < 3; i++)
		threads.emplace_back([&server, i] {
			name_thread(("request-" + std::to_string(i)).c_str());
			server.run(i);
		});
	threads.emplace_back([&loader] {
		name_thread("data-loader");
		loader.run();
	});
	threads.emplace_back([&trainer] {
		name_thread("trainer");
		trainer.run();
	});
	for (auto &thread : threads)
		thread.join();

	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaEventDestroy(slot.loaded));
	CHECK(cudaEventDestroy(slot.used));
	CHECK(cudaFreeHost(slot.host));
	CHECK(cudaFree(slot.device));
	printf("demo: requests %d training steps %d batches %d\n", server.nr_requests.load(),
	       trainer.nr_steps, loader.nr_batches);
	return 0;
}
