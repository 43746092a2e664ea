// A Reader for a part of a file that is read from front to back. It reads large windows into memory and serves small
// reads from them.
#pragma once

#include <string>
#include <vector>

#include "base/store/store.h"

namespace hone {

class WindowedReader : public Reader {
 public:
  // Reads the part [offset, offset + bytes) of `file`, which must outlive this object. The part must be inside the
  // file. Offset 0 of read() is the start of the part. `window_bytes`: the size of a window.
  WindowedReader(Reader& file, int64_t offset, int64_t bytes, int64_t window_bytes);
  int64_t bytes() const override { return bytes_; }  // size of the part
  // A read outside of the part is a Bug. Errors: those of `file`.
  Status read(int64_t offset, std::span<std::byte> out) override;

 private:
  Reader& file_;
  int64_t offset_, bytes_, window_bytes_;
  int64_t start_ = 0;  // offset of the window in the part
  std::vector<std::byte> window_;
};

}  // namespace hone
