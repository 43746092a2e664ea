// Memory of the fake driver.
#include "engine/backends/cuda/emulator/state.h"

namespace hone::cuda::fake {
namespace {

// The driver waits for the device before it gives bytes back, but a caller that relies on that has
// forgotten a wait of its own.
CUresult release(FakeState& s, const void* at, bool device) {
  if (at == nullptr) return CUDA_SUCCESS;
  Block* b = s.block(at, 0);
  if (b == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (b->device != device || b->data != at) {
    s.find(fmt::format("frees {}, which another call allocated", b->text()));
    return CUDA_ERROR_INVALID_VALUE;
  }
  s.not_in_step("frees memory");
  s.host_access({b->data, b->bytes, true}, "frees");
  s.queues.run_all();
  s.races.forget(b->data, b->bytes);
  s.blocks.free(*b, s.calls);
  return CUDA_SUCCESS;
}

Block* allocate(FakeState& s, bool device, size_t bytes) {
  s.not_in_step("allocates memory");
  return s.blocks.allocate(device, static_cast<int64_t>(bytes));
}

}  // namespace

void add_memory_functions(Driver& t) {
  t.cuMemGetInfo = [](size_t* free, size_t* total) {
    return enter("cuMemGetInfo", [&](FakeState& s) {
      *total = static_cast<size_t>(s.options.memory_bytes);
      *free = *total - static_cast<size_t>(s.blocks.device_bytes());
      return CUDA_SUCCESS;
    });
  };
  t.cuMemAlloc = [](CUdeviceptr* at, size_t bytes) {
    return enter("cuMemAlloc", [&](FakeState& s) {
      if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
      const int64_t left = s.options.memory_bytes - s.blocks.device_bytes();
      if (bytes > static_cast<size_t>(left)) return CUDA_ERROR_OUT_OF_MEMORY;
      const Block* b = allocate(s, true, bytes);
      if (b == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
      *at = reinterpret_cast<CUdeviceptr>(b->data);
      return CUDA_SUCCESS;
    });
  };
  t.cuMemFree = [](CUdeviceptr at) {
    return enter("cuMemFree", [&](FakeState& s) { return release(s, pointer(at), true); });
  };
  t.cuMemHostAlloc = [](void** at, size_t bytes, unsigned) {
    return enter("cuMemHostAlloc", [&](FakeState& s) {
      if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
      const Block* b = allocate(s, false, bytes);
      if (b == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
      *at = b->data;
      return CUDA_SUCCESS;
    });
  };
  t.cuMemFreeHost = [](void* at) {
    return enter("cuMemFreeHost", [&](FakeState& s) { return release(s, at, false); });
  };
}

}  // namespace hone::cuda::fake
