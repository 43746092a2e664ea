// The fake driver's allocations of device memory and of pinned host memory. Addresses are never used
// again after a block is freed, so a pointer to a freed block can be recognized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace hone::cuda::fake {

struct Block {
  int64_t number = 0;         // 1 for the first allocation
  bool device = false;        // device memory; false: pinned host memory
  std::byte* data = nullptr;  // first byte; aligned to 256 bytes
  int64_t bytes = 0;
  int64_t freed_by = 0;  // number of the driver call that freed the block; 0: it is not freed
  // The mapped pages: those of the data, and a guard page before and after them. An access to a guard page ends the
  // process.
  std::byte* reserved = nullptr;
  size_t reserved_bytes = 0;

  bool has(const void* at, int64_t count) const;  // whether bytes [at, at + count) are in the block
  std::string text() const;                       // "device block 3 (256 bytes)"
};

class Blocks {
 public:
  Blocks() = default;
  Blocks(const Blocks&) = delete;
  ~Blocks();

  // Allocates a block filled with bytes 0xff, which are NaN in every float type. An access to a device block while the
  // device is closed (close_device()) ends the process. nullptr: the machine does not have enough memory.
  Block* allocate(bool device, int64_t bytes);
  // Returns the memory to the system. all() and find() still return the block. call: the value for Block::freed_by.
  void free(Block& block, int64_t call);
  // The block, freed or not, whose mapped pages contain `at`; nullptr: there is none.
  Block* find(const void* at);

  // Allow (open) and forbid (close) access to the bytes of all device blocks. At first the device is closed.
  void open_device() { protect(true); }
  void close_device() { protect(false); }

  const std::map<const std::byte*, Block>& all() const { return all_; }  // freed blocks too
  int64_t device_bytes() const { return device_bytes_; }  // of device blocks that are not freed

 private:
  void protect(bool open);

  std::map<const std::byte*, Block> all_;  // by Block::reserved
  std::set<const Block*> on_device_;       // device blocks that are not freed
  int64_t device_bytes_ = 0;
};

}  // namespace hone::cuda::fake
