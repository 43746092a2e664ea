// Copies between memory and blocks on disk, several requests in flight. For one thread.
#pragma once

#include <array>
#include <memory>

#include "engine/device/disk_blocks.h"

namespace hone {

class DiskStream {
 public:
  explicit DiskStream(DiskBlocks& blocks) : blocks_(blocks) {}

  // Whether begin() accepts the copy now: it is between memory and whole blocks of a disk, shares
  // no byte with a copy in flight, and fewer than kCopies are in flight.
  bool takes(const Copy& c) const;
  void begin(const Copy& c);
  // Waits for a request, and returns the number of copies, from the oldest on, that are done now. A
  // copy must be in flight.
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
    int32_t requests = 0;  // in flight
  };
  struct Slot {
    uint64_t copy = 0;
    std::byte* memory = nullptr;
    int64_t at = 0, bytes = 0;  // of the copy
    int64_t done = 0;
    bool bounced = false;  // through bounce[0..]
    bool used = false;
    DiskBuffer bounce = {};
  };
  Moving& moving(uint64_t copy) { return moving_[copy % kCopies]; }
  void make_requests();
  void request(size_t slot, const Moving& m);
  void take(size_t slot, int64_t result);

  DiskBlocks& blocks_;
  std::unique_ptr<DiskIo> io_;  // created for the first copy
  std::array<Moving, kCopies> moving_;
  std::array<Slot, DiskIo::kSlots> slots_;
  uint64_t first_ = 0, next_ = 0, end_ = 0;  // oldest in flight, next to request, end
  int32_t on_their_way_ = 0;
};

}  // namespace hone
