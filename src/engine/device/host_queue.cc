#include "engine/device/host_queue.h"

namespace hone {

void HostQueue::copy(std::span<const Copy> copies) {
  const auto each = [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) disk_.copy(copies[static_cast<size_t>(i)]);
  };
  const auto count = static_cast<int64_t>(copies.size());
  if (count == 1)
    each(0, 1, 0);
  else
    pool_.parallel_for(count, each);
}

void HostQueue::wait(Queue& other, uint64_t mark) {
  if (&other != this) static_cast<HostQueue&>(other).reach(mark);
}

}  // namespace hone
