#include "engine/device/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "base/core/memory_nodes.h"
#include "base/core/threads.h"
#include "engine/device/errors.h"
#include "engine/plan/plan.h"

namespace hone {

int Arena::populate_now(void* begin, size_t bytes) {
  return madvise(begin, bytes, MADV_POPULATE_WRITE);
}

namespace {

// The system clears a page when it is first touched, at some GB/s on a core. Returns 0, or -1 with the first
// errno of a part.
int populate_parts(std::byte* begin, size_t bytes, Arena::Populate populate) {
  constexpr size_t kPart = size_t{256} << 20;
  const size_t parts = std::clamp<size_t>(bytes / kPart, 1, static_cast<size_t>(usable_cores()));
  if (parts == 1) return populate(begin, bytes);
  const size_t part = (bytes / parts + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
  std::atomic<int> refusal = 0;
  {
    std::vector<std::jthread> threads;
    for (size_t at = 0; at < bytes; at += part)
      threads.emplace_back([&, at] {
        if (populate(begin + at, std::min(part, bytes - at)) == 0) return;
        int none = 0;
        refusal.compare_exchange_strong(none, errno);
      });
  }
  errno = refusal;
  return refusal == 0 ? 0 : -1;
}

}  // namespace

Result<Arena> Arena::allocate(int64_t bytes, Populate populate) {
  const auto refused = [&] {
    return Error(err::kNoMemory, fmt::format("the system refuses {} bytes of memory: {}", bytes,
                                             std::strerror(errno)));
  };
  Arena a;
  a.bytes_ = bytes;
  a.mapping_bytes_ = static_cast<size_t>(bytes + kArenaAlignment);
  void* m = mmap(nullptr, a.mapping_bytes_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (m == MAP_FAILED) return refused();
  a.mapping_ = m;
  auto address = reinterpret_cast<uintptr_t>(m);
  a.data_ = reinterpret_cast<std::byte*>((address + kArenaAlignment - 1) / kArenaAlignment *
                                         kArenaAlignment);
  madvise(a.data_, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  // The nodes of the threads that populate are not those that compute on a page.
  interleave_over_nodes(a.data_, static_cast<size_t>(bytes));
  // Populating now makes the first step as fast as the rest, and a lack of memory show at once.
  if (populate_parts(a.data_, static_cast<size_t>(bytes), populate) != 0) {
    // EINVAL: a kernel before 5.14, which does not know the advice. After any other refusal
    // touching the pages would end in the kernel's killer.
    if (errno != EINVAL) return refused();
    for (int64_t i = 0; i < bytes; i += 4096)
      const_cast<volatile std::byte*>(a.data_)[i] = std::byte{0};
  }
  return a;
}

Arena::Arena(Arena&& o) noexcept { *this = std::move(o); }
Arena& Arena::operator=(Arena&& o) noexcept {
  std::swap(data_, o.data_);
  std::swap(bytes_, o.bytes_);
  std::swap(mapping_, o.mapping_);
  std::swap(mapping_bytes_, o.mapping_bytes_);
  return *this;
}
Arena::~Arena() {
  if (mapping_) munmap(mapping_, mapping_bytes_);
}

}  // namespace hone
