// Parts of a file that is read from front to back: small reads come from a window in memory.
#pragma once

#include <string>
#include <vector>

#include "base/store/store.h"

namespace hone {

class WindowedReader : public Reader {
 public:
  // The part [offset, offset + bytes) of `file`, which must outlive it. Offsets of read() begin at the part. The part is
  // within the file.
  WindowedReader(Reader& file, int64_t offset, int64_t bytes, int64_t window_bytes);
  int64_t bytes() const override { return bytes_; }
  Status read(int64_t offset, std::span<std::byte> out) override;

 private:
  Reader& file_;
  int64_t offset_, bytes_, window_bytes_;
  int64_t start_ = 0;  // of the window, in the part
  std::vector<std::byte> window_;
};

}  // namespace hone
