#include "base/store/places/object_reader.h"

#include <cstring>

#include "base/store/crc32c.h"
#include "base/store/errors.h"
#include "base/store/places/in_parallel.h"

namespace hone {
namespace {

constexpr int64_t kPiece = 6 << 20;         // of a large read: one request
constexpr int64_t kFirstWindow = 64 << 10;  // a header, a small file
constexpr int64_t kLastWindow = 4 << 20;
constexpr int64_t kLarge = 1 << 20;  // reads of more go past the window
constexpr int kStreams = 8;

}  // namespace

ObjectReader::~ObjectReader() {
  if (ahead_.valid()) ahead_.wait();
}

Status ObjectReader::fetch(int64_t offset, std::span<std::byte> out) {
  const auto size = static_cast<int64_t>(out.size());
  return in_parallel((size + kPiece - 1) / kPiece, kStreams, [&](int64_t i) {
    const int64_t begin = i * kPiece, end = std::min(begin + kPiece, size);
    return bucket_.read(object_, offset + begin,
                        out.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
  });
}

Result<ObjectReader::Window> ObjectReader::window_at(int64_t begin, int64_t bytes) {
  Window w{begin,
           std::vector<std::byte>(static_cast<size_t>(std::min(bytes, object_.bytes - begin)))};
  HONE_TRY(fetch(begin, w.bytes));
  return w;
}

Status ObjectReader::check(int64_t offset, std::span<const std::byte> bytes) {
  if (!object_.crc32c || offset != checked_) return Ok{};
  sum_ = crc32c(bytes, sum_);
  checked_ += static_cast<int64_t>(bytes.size());
  if (checked_ < object_.bytes || sum_ == *object_.crc32c) return Ok{};
  return Error(err::kChecksum,
               fmt::format("the bytes read from {} differ from the stored object", name_))
      .todo(
          "run the same command again; if it happens again, the object is damaged: write it again");
}

void ObjectReader::read_ahead() {
  const int64_t begin = window_.end();
  if (begin >= object_.bytes) return;
  next_bytes_ = std::min(2 * next_bytes_, kLastWindow);
  ahead_ = std::async(std::launch::async,
                      [this, begin, bytes = next_bytes_] { return window_at(begin, bytes); });
}

Status ObjectReader::read(int64_t offset, std::span<std::byte> out) {
  const auto size = static_cast<int64_t>(out.size());
  if (offset < 0 || size > object_.bytes - offset)
    return Error(err::kStoreShort, fmt::format("{} ends at byte {}, {} more were expected", name_,
                                               object_.bytes, offset + size - object_.bytes))
        .todo("the file was cut off, perhaps by a broken copy: write it again");
  std::lock_guard lock(mutex_);
  while (!out.empty()) {
    if (offset >= window_.begin && offset < window_.end()) {
      const auto from = static_cast<size_t>(offset - window_.begin);
      const size_t n = std::min(out.size(), window_.bytes.size() - from);
      std::memcpy(out.data(), window_.bytes.data() + from, n);
      out = out.subspan(n);
      offset += static_cast<int64_t>(n);
      continue;
    }
    const bool in_order = offset == window_.end();
    if (ahead_.valid()) {
      Result<Window> next = ahead_.get();
      if (in_order) {
        window_ = HONE_TRY(std::move(next));
        HONE_TRY(check(window_.begin, window_.bytes));
        if (static_cast<int64_t>(out.size()) <= kLarge) read_ahead();
        continue;
      }
    }
    if (static_cast<int64_t>(out.size()) > kLarge) {
      HONE_TRY(fetch(offset, out));
      HONE_TRY(check(offset, out));
      window_ = {offset + static_cast<int64_t>(out.size()), {}};
      return Ok{};
    }
    const bool first = next_bytes_ == 0;
    if (!in_order || first) next_bytes_ = kFirstWindow;
    window_ = HONE_TRY(window_at(offset, std::max(next_bytes_, static_cast<int64_t>(out.size()))));
    HONE_TRY(check(window_.begin, window_.bytes));
    if (in_order && !first) read_ahead();
  }
  return Ok{};
}

}  // namespace hone
