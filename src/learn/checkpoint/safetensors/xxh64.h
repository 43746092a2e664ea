// XXH64, the checksum of checkpoint files: 64 bits, about 10 GB/s on one core, by libxxhash. Guards against bit
// rot and mixed-up files, not against forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace hone {

class Xxh64 {
 public:
  Xxh64();  // with seed 0
  void update(std::span<const std::byte> bytes);
  uint64_t digest() const;  // of everything so far; update may continue afterwards

 private:
  std::unique_ptr<void, void (*)(void*)> state_;
};

// 16 lower-case hex digits.
std::string hex_of(uint64_t digest);

}  // namespace hone
