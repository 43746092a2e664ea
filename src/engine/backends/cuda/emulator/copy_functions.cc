// Copies, fills and host functions of the fake driver.
#include <cstring>

#include "engine/backends/cuda/emulator/state.h"

namespace hone::cuda::fake {
namespace {

// Memory that is not the driver's: it is copied by way of pages of the driver. A copy from it has
// read it when the call returns, and a copy to it is done then, which waits.
CUresult copy(FakeState& s, std::byte* to, const std::byte* from, int64_t bytes, CUstream stream) {
  Stream* on = s.stream(stream);
  if (on == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (bytes == 0) return CUDA_SUCCESS;
  const bool from_pages = s.blocks.find(from) == nullptr, to_pages = s.blocks.find(to) == nullptr;
  std::vector<Access> accesses;
  if (!from_pages) accesses.push_back({from, bytes, false});
  if (!to_pages) accesses.push_back({to, bytes, true});
  for (const Access& a : accesses)
    if (s.block(a.at, bytes) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (from_pages || to_pages) s.not_in_step("copies memory that is not pinned");
  std::vector<std::byte> staged;
  if (from_pages) staged.assign(from, from + bytes);
  auto op = s.queue(*on, accesses, [to, from, bytes, staged = std::move(staged)] {
    std::memmove(to, staged.empty() ? from : staged.data(), static_cast<size_t>(bytes));
  });
  if (to_pages && op) s.host_waits_for(op, on->clock);
  return CUDA_SUCCESS;
}

}  // namespace

void add_copy_functions(Driver& t) {
  t.cuMemcpyAsync = [](CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return enter("cuMemcpyAsync", [&](FakeState& s) {
      return copy(s, static_cast<std::byte*>(pointer(to)),
                  static_cast<const std::byte*>(pointer(from)), static_cast<int64_t>(bytes),
                  stream);
    });
  };
  t.cuMemsetD8Async = [](CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
    return enter("cuMemsetD8Async", [&](FakeState& s) {
      Stream* on = s.stream(stream);
      if (on == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      const Access access{pointer(to), static_cast<int64_t>(bytes), true};
      if (s.block(access.at, access.bytes) == nullptr) return CUDA_ERROR_INVALID_VALUE;
      s.queue(*on, {&access, 1}, [=] { std::memset(pointer(to), value, bytes); });
      return CUDA_SUCCESS;
    });
  };
  t.cuLaunchHostFunc = [](CUstream stream, CUhostFn function, void* user_data) {
    return enter("cuLaunchHostFunc", [&](FakeState& s) {
      Stream* on = s.stream(stream);
      const std::vector<Access> accesses = take_noted(s);
      if (on == nullptr || function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      for (const Access& a : accesses)
        if (a.bytes > 0 && s.block(a.at, a.bytes) == nullptr) return CUDA_ERROR_INVALID_VALUE;
      s.queue(*on, accesses, [=] { function(user_data); });
      return CUDA_SUCCESS;
    });
  };
}

}  // namespace hone::cuda::fake
