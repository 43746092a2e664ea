#include "engine/backends/cuda/emulator/blocks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/core/error.h"

namespace hone::cuda::fake {
namespace {

const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));
constexpr size_t kDeviceAlignment = 256;

size_t rounded(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

bool Block::has(const void* at, int64_t count) const {
  const auto begin = reinterpret_cast<uintptr_t>(at), mine = reinterpret_cast<uintptr_t>(data);
  return begin >= mine && count <= bytes &&
         begin - mine <= static_cast<uintptr_t>(bytes) - static_cast<uintptr_t>(count);
}

std::string Block::text() const {
  return fmt::format("{} block {} ({} bytes)", device ? "device" : "pinned", number, bytes);
}

Blocks::~Blocks() {
  for (const auto& [at, block] : all_) munmap(block.reserved, block.reserved_bytes);
}

Block* Blocks::allocate(bool device, int64_t bytes) {
  // The end is next to the last page, so that a kernel that runs past it ends the process.
  const size_t aligned = rounded(static_cast<size_t>(bytes), kDeviceAlignment);
  const size_t inner = rounded(aligned, kPage);
  Block b;
  b.reserved_bytes = inner + 2 * kPage;
  void* at = mmap(nullptr, b.reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  b.reserved = static_cast<std::byte*>(at);
  if (mprotect(b.reserved + kPage, inner, PROT_READ | PROT_WRITE) != 0) {
    munmap(at, b.reserved_bytes);
    return nullptr;
  }
  std::memset(b.reserved + kPage, 0xff, inner);
  b.number = static_cast<int64_t>(all_.size()) + 1;
  b.device = device;
  b.data = b.reserved + kPage + (inner - aligned);
  b.bytes = bytes;
  if (device) {
    mprotect(b.reserved + kPage, inner, PROT_NONE);
    device_bytes_ += bytes;
  }
  Block& added = all_.emplace(b.reserved, b).first->second;
  if (device) on_device_.insert(&added);
  return &added;
}

void Blocks::free(Block& block, int64_t call) {
  block.freed_by = call;
  if (on_device_.erase(&block) > 0) device_bytes_ -= block.bytes;
  // New pages in the same place hold no memory, and keep the address.
  mmap(block.reserved, block.reserved_bytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

Block* Blocks::find(const void* at) {
  const auto* byte = static_cast<const std::byte*>(at);
  auto next = all_.upper_bound(byte);
  if (next == all_.begin()) return nullptr;
  Block& b = std::prev(next)->second;
  return byte < b.reserved + b.reserved_bytes ? &b : nullptr;
}

void Blocks::protect(bool open) {
  for (const Block* b : on_device_)
    mprotect(b->reserved + kPage, b->reserved_bytes - 2 * kPage,
             open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

}  // namespace hone::cuda::fake
