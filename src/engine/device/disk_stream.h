// Copies between memory and blocks on disk (disk_blocks.h) with several requests in flight. A DiskStream may be used by
// one thread only.
#pragma once

#include <array>
#include <memory>

#include "engine/device/disk_blocks.h"

namespace hone {

class DiskStream {
 public:
  explicit DiskStream(DiskBlocks& blocks) : blocks_(blocks) {}

  // Whether begin() accepts the copy now. The copy must be between memory and whole disk blocks, must not share a byte
  // with a copy in flight, and fewer than kCopies copies may be in flight.
  bool takes(const Copy& c) const;
  // Starts a copy that takes() accepts.
  void begin(const Copy& c);
  // Waits for one request. Copies finish in the order in which they were started. Returns the number of copies that
  // finished in this call, which may be 0. At least one copy must be in flight.
  uint64_t finish_some();
  bool empty() const { return first_ == end_; }  // no copy is in flight

 private:
  static constexpr int64_t kRequest = int64_t{1} << 20;  // bytes
  static constexpr uint64_t kCopies = 64;
  struct Moving {
    DiskBlocks::Place place;
    std::byte* memory = nullptr;
    const std::byte* block = nullptr;  // the address in a block on disk
    int64_t bytes = 0;
    bool writes = false;
    int64_t begun = 0;     // bytes that the started requests cover
    int32_t requests = 0;  // its requests in flight
  };
  // A request of a copy.
  struct Slot {
    uint64_t copy = 0;  // number of the copy
    std::byte* memory = nullptr;
    int64_t at = 0, bytes = 0;  // the request's bytes of the copy: [at, at + bytes)
    int64_t done = 0;           // of these, the bytes that were read or written
    bool bounced = false;       // the bytes go through `bounce`, because they are not aligned
    bool used = false;
    DiskBuffer bounce = {};
  };
  Moving& moving(uint64_t copy) { return moving_[copy % kCopies]; }
  void make_requests();
  void request(size_t slot, const Moving& m);
  void take(size_t slot, int64_t result);

  DiskBlocks& blocks_;
  std::unique_ptr<DiskIo> io_;          // created for the first copy
  std::array<Moving, kCopies> moving_;  // copy i is moving_[i % kCopies]
  std::array<Slot, DiskIo::kSlots> slots_;
  // Numbers of copies: the oldest in flight, the first that needs more requests, and one past the last.
  uint64_t first_ = 0, next_ = 0, end_ = 0;
  int32_t on_their_way_ = 0;  // requests in flight
};

}  // namespace hone
