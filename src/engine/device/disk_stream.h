// Copies between memory and blocks on disk, several requests on their way at a time. For one thread.
#pragma once

#include <array>
#include <memory>

#include "engine/device/disk_blocks.h"

namespace hone {

class DiskStream {
 public:
  explicit DiskStream(DiskBlocks& blocks) : blocks_(blocks) {}

  // Whether begin() may be given the copy by now: it is between memory and whole blocks of a disk,
  // touches no byte that a copy on its way touches, and fewer than kCopies are.
  bool takes(const Copy& c) const;
  void begin(const Copy& c);
  // Waits for a request, and returns how many copies, from the one that was begun first, are done
  // with it. Some copy is on its way.
  uint64_t finish_some();
  bool empty() const { return first_ == end_; }

 private:
  static constexpr int64_t kRequest = int64_t{1} << 20;  // bytes
  static constexpr uint64_t kCopies = 64;
  struct Moving {
    DiskBlocks::Place place;
    std::byte* memory = nullptr;
    const std::byte* block = nullptr;  // the address of the side on disk
    int64_t bytes = 0;
    bool writes = false;
    int64_t begun = 0;     // bytes whose requests were made
    int32_t requests = 0;  // on their way
  };
  struct Slot {
    uint64_t copy = 0;
    std::byte* memory = nullptr;
    int64_t at = 0, bytes = 0;  // of the copy
    int64_t done = 0;
    bool bounced = false;  // by way of bounce[0..]
    bool used = false;
    DiskBuffer bounce{nullptr, nullptr};
  };
  Moving& moving(uint64_t copy) { return moving_[copy % kCopies]; }
  void make_requests();
  void request(size_t slot, const Moving& m);
  void take(size_t slot, int64_t result);

  DiskBlocks& blocks_;
  std::unique_ptr<DiskIo> io_;  // made for the first copy
  std::array<Moving, kCopies> moving_;
  std::array<Slot, DiskIo::kSlots> slots_;
  uint64_t first_ = 0, next_ = 0, end_ = 0;  // not done, not all requested, not begun
  int32_t on_their_way_ = 0;
};

}  // namespace hone
