#include "learn/data/imagenet/windowed_reader.h"

#include <algorithm>
#include <cstring>

namespace hone {

WindowedReader::WindowedReader(Reader& file, int64_t offset, int64_t bytes, int64_t window_bytes)
    : file_(file), offset_(offset), bytes_(bytes), window_bytes_(window_bytes) {
  HONE_BUG_IF(offset < 0 || bytes < 0 || bytes > file.bytes() - offset, "a part outside the file");
}

Status WindowedReader::read(int64_t offset, std::span<std::byte> out) {
  HONE_BUG_IF(offset < 0 || std::ssize(out) > bytes_ - offset, "a read outside the part");
  if (std::ssize(out) > window_bytes_) return file_.read(offset_ + offset, out);
  if (offset < start_ || offset + std::ssize(out) > start_ + std::ssize(window_)) {
    // A failed read leaves no window.
    start_ = offset;
    window_.clear();
    std::vector<std::byte> fresh(static_cast<size_t>(std::min(window_bytes_, bytes_ - offset)));
    HONE_TRY(file_.read(offset_ + offset, fresh));
    window_ = std::move(fresh);
  }
  if (!out.empty()) std::memcpy(out.data(), window_.data() + (offset - start_), out.size());
  return Ok{};
}

}  // namespace hone
