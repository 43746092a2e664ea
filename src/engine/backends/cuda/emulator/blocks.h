// Blocks of device memory and of pinned host memory. An address is not used again after its block
// is freed, so that an old pointer is known as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace hone::cuda::fake {

struct Block {
  int64_t number = 0;
  bool device = false;
  std::byte* data = nullptr;  // aligned to 256 bytes
  int64_t bytes = 0;
  int64_t freed_by = 0;  // number of the call, 0: it is not freed
  std::byte* reserved = nullptr;
  size_t reserved_bytes = 0;  // with pages around it that nothing may touch

  bool has(const void* at, int64_t count) const;
  std::string text() const;  // "device block 3 (256 bytes)"
};

class Blocks {
 public:
  Blocks() = default;
  Blocks(const Blocks&) = delete;
  ~Blocks();

  // Filled with bytes 0xff, which are NaN in every float type; nullptr: the machine has not enough
  // memory. Host code may not touch the bytes of a device block, unless the device is open.
  Block* allocate(bool device, int64_t bytes);
  // Gives the bytes back; the block stays known.
  void free(Block& block, int64_t call);
  // The block that `at` is in or next to, a freed one too; nullptr: no block of this driver.
  Block* find(const void* at);

  void open_device() { protect(true); }
  void close_device() { protect(false); }

  const std::map<const std::byte*, Block>& all() const { return all_; }
  int64_t device_bytes() const { return device_bytes_; }

 private:
  void protect(bool open);

  std::map<const std::byte*, Block> all_;  // by the first byte that is reserved
  std::set<const Block*> on_device_;       // and not freed
  int64_t device_bytes_ = 0;
};

}  // namespace hone::cuda::fake
