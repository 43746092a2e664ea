#include "engine/device/disk_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/plan/plan.h"

namespace hone {
namespace {

bool overlap(const std::byte* a, int64_t a_bytes, const std::byte* b, int64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

}  // namespace

bool DiskStream::takes(const Copy& c) const {
  if (!c.from || end_ - first_ == kCopies) return false;
  const DiskBlocks::Place to = blocks_.place_of(c.to), from = blocks_.place_of(c.from);
  if ((to.file < 0) == (from.file < 0)) return false;
  const DiskBlocks::Place& place = to.file < 0 ? from : to;
  if (place.direct && (place.offset % kDiskAlignment != 0 ||
                       (to.file >= 0 && !c.whole && c.bytes % kDiskAlignment != 0)))
    return false;
  const auto* memory = static_cast<const std::byte*>(to.file < 0 ? c.to : c.from);
  const auto* block = static_cast<const std::byte*>(to.file < 0 ? c.from : c.to);
  for (uint64_t i = first_; i < end_; ++i) {
    const Moving& m = moving_[i % kCopies];
    if (overlap(m.memory, m.bytes, memory, c.bytes) ||
        overlap(m.block, in_disk_blocks(m.bytes), block, in_disk_blocks(c.bytes)))
      return false;
  }
  return true;
}

void DiskStream::begin(const Copy& c) {
  if (!io_ && blocks_.uses_uring()) io_ = make_uring_io();
  if (!io_) io_ = make_threads_io();
  Moving m;
  m.place = blocks_.place_of(c.to);
  m.writes = m.place.file >= 0;
  if (!m.writes) m.place = blocks_.place_of(c.from);
  m.memory = static_cast<std::byte*>(const_cast<void*>(m.writes ? c.from : c.to));
  m.block = static_cast<const std::byte*>(m.writes ? c.to : c.from);
  m.bytes = c.bytes;
  moving(end_++) = m;
  make_requests();
}

void DiskStream::make_requests() {
  for (size_t slot = 0; next_ < end_;) {
    Moving& m = moving(next_);
    if (blocks_.failed()) m.begun = m.bytes;
    if (m.begun == m.bytes) {
      ++next_;
      continue;
    }
    while (slot < slots_.size() && slots_[slot].used) ++slot;
    if (slot == slots_.size()) return;
    Slot& s = slots_[slot];
    s.copy = next_;
    s.at = m.begun;
    s.bytes = std::min(kRequest, m.bytes - m.begun);
    s.memory = m.memory + s.at;
    s.done = 0;
    s.used = true;
    const bool aligned = m.place.reaches(s.memory);
    // The part beyond whole disk blocks has a request of its own.
    if (m.place.direct && aligned && s.bytes > kDiskAlignment) s.bytes -= s.bytes % kDiskAlignment;
    s.bounced = m.place.direct && (s.bytes % kDiskAlignment != 0 || !aligned);
    if (s.bounced) {
      // The last blocks of values are small: whole requests need a buffer if memory is not aligned.
      // All slots get one at once, so no later step allocates.
      if (!s.bounce)
        for (Slot& each : slots_) each.bounce = make_disk_buffer(kRequest);
      if (m.writes) {
        const int64_t all = in_disk_blocks(s.bytes);
        std::memcpy(s.bounce.get(), s.memory, static_cast<size_t>(s.bytes));
        std::memset(s.bounce.get() + s.bytes, 0, static_cast<size_t>(all - s.bytes));
      }
    }
    m.begun += s.bytes;
    ++m.requests;
    ++on_their_way_;
    request(slot, m);
  }
}

void DiskStream::request(size_t slot, const Moving& m) {
  const Slot& s = slots_[slot];
  const int64_t bytes = (s.bounced ? in_disk_blocks(s.bytes) : s.bytes) - s.done;
  io_->begin(slot, {m.place.file, m.writes, (s.bounced ? s.bounce.get() : s.memory) + s.done, bytes,
                    m.place.offset + s.at + s.done});
}

// Reads and writes may be partial. End of file inside the range is a failure.
void DiskStream::take(size_t slot, int64_t result) {
  Slot& s = slots_[slot];
  Moving& m = moving(s.copy);
  if (result == -EINTR || result == -EAGAIN) return request(slot, m);
  s.done += std::max<int64_t>(result, 0);
  const bool ends =
      result == 0 || (m.place.direct && result > 0 && result % kStagingAlignment != 0);
  if (s.done < s.bytes) {
    if (result > 0 && !ends) return request(slot, m);
    errno = result < 0 ? static_cast<int>(-result) : 0;
    blocks_.fail(m.writes, m.place.file, m.place.offset + s.at + s.done, m.bytes - s.at - s.done);
  } else if (s.bounced && !m.writes) {
    std::memcpy(s.memory, s.bounce.get(), static_cast<size_t>(s.bytes));
  }
  if (!m.place.direct) {
    DiskBlocks::Place place = m.place;
    place.offset += s.at;
    DiskBlocks::drop_pages(place, s.bytes, m.writes);
  }
  s.used = false;
  --m.requests;
  --on_their_way_;
}

uint64_t DiskStream::finish_some() {
  if (on_their_way_ > 0) {
    const DiskResult r = io_->finish_one();
    take(r.slot, r.bytes);
  }
  make_requests();
  const uint64_t before = first_;
  while (first_ < next_ && moving(first_).requests == 0) ++first_;
  return first_ - before;
}

}  // namespace hone
