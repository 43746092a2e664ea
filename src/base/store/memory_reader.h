// A Reader (base/store/store.h) of bytes in memory.
#pragma once

#include <cstring>

#include "base/store/store.h"

namespace hone {

// `bytes` must outlive the reader. A read outside the bytes is a Bug.
class MemoryReader final : public Reader {
 public:
  explicit MemoryReader(std::string_view bytes) : bytes_(bytes) {}
  int64_t bytes() const override { return std::ssize(bytes_); }
  Status read(int64_t offset, std::span<std::byte> out) override {
    HONE_BUG_IF(offset < 0 || offset > bytes() || std::ssize(out) > bytes() - offset,
                "a read outside the bytes");
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return Ok{};
  }

 private:
  std::string_view bytes_;
};

}  // namespace hone
