#include "learn/checkpoint/torch/zip_entries.h"

#include <algorithm>
#include <cstring>

#include "learn/checkpoint/torch/errors.h"

namespace hone {
namespace {

constexpr int64_t kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20, kEntryBytes = 46,
                  kLocalBytes = 30, kMaxComment = 65535;
constexpr int64_t kMaxDirectory = int64_t{1} << 30;
constexpr uint32_t kEndMark = 0x06054b50, kEnd64Mark = 0x06064b50, kLocatorMark = 0x07064b50,
                   kEntryMark = 0x02014b50, kLocalMark = 0x04034b50;

template <class T>
T at(std::string_view bytes, int64_t offset) {  // the caller has checked the length
  T x;
  std::memcpy(&x, bytes.data() + offset, sizeof x);
  return x;
}

Error damaged(const ByteFile& file, std::string what) {
  return Error(err::kTorchFile,
               fmt::format("'{}' is a damaged archive: {}", file.path(), std::move(what)))
      .todo("download or save the file again");
}

Result<std::string> read_text(const ByteFile& file, uint64_t offset, int64_t bytes) {
  if (offset > static_cast<uint64_t>(file.size()) ||
      bytes > file.size() - static_cast<int64_t>(offset))
    return damaged(file, fmt::format("{} bytes at {} are needed and the file has {}: is it cut?",
                                     bytes, offset, file.size()));
  std::string text(static_cast<size_t>(bytes), '\0');
  HONE_TRY(file.read_at(static_cast<int64_t>(offset),
                        std::as_writable_bytes(std::span(text.data(), text.size()))));
  return text;
}

struct Directory {
  uint64_t offset, bytes, count;
};

Result<Directory> find_directory(const ByteFile& file) {
  const int64_t tail = std::min(file.size(), kEndBytes + kMaxComment);
  const std::string end =
      HONE_TRY(read_text(file, static_cast<uint64_t>(file.size() - tail), tail));
  int64_t i = tail - kEndBytes;
  while (i >= 0 && at<uint32_t>(end, i) != kEndMark) --i;
  if (i < 0) return damaged(file, "it has no table of contents at its end: is it cut?");
  Directory d{at<uint32_t>(end, i + 16), at<uint32_t>(end, i + 12), at<uint16_t>(end, i + 10)};
  const int64_t locator = file.size() - tail + i - kLocatorBytes;
  const bool full = d.offset == 0xffffffff || d.bytes == 0xffffffff || d.count == 0xffff;
  if (!full || locator < 0) return d;
  const std::string l = HONE_TRY(read_text(file, static_cast<uint64_t>(locator), kLocatorBytes));
  if (at<uint32_t>(l, 0) != kLocatorMark) return d;
  const std::string e = HONE_TRY(read_text(file, at<uint64_t>(l, 8), kEnd64Bytes));
  if (at<uint32_t>(e, 0) != kEnd64Mark)
    return damaged(file, "it lacks its 64-bit table of contents");
  return Directory{at<uint64_t>(e, 48), at<uint64_t>(e, 40), at<uint64_t>(e, 32)};
}

// Sizes and offset that do not fit 32 bits are in the extra field 1, in this order.
void widen(std::string_view extra, uint64_t& size, uint64_t& packed, uint64_t& offset) {
  while (extra.size() >= 4) {
    const size_t length = std::min<size_t>(at<uint16_t>(extra, 2), extra.size() - 4);
    if (at<uint16_t>(extra, 0) == 1) {
      std::string_view field = extra.substr(4, length);
      for (uint64_t* x : {&size, &packed, &offset}) {
        if (*x != 0xffffffff || field.size() < 8) continue;
        *x = at<uint64_t>(field, 0);
        field.remove_prefix(8);
      }
      return;
    }
    extra.remove_prefix(4 + length);
  }
}

}  // namespace

bool is_zip(const ByteFile& file) {
  uint32_t mark = 0;
  return file.size() >= kEndBytes &&
         file.read_at(0, std::as_writable_bytes(std::span(&mark, 1))).ok() && mark == kLocalMark;
}

Result<std::map<std::string, ZipEntry>> read_zip_entries(const ByteFile& file) {
  const Directory d = HONE_TRY(find_directory(file));
  if (d.bytes > static_cast<uint64_t>(kMaxDirectory))
    return damaged(file, fmt::format("its table of contents claims {} bytes", d.bytes));
  const std::string directory = HONE_TRY(read_text(file, d.offset, static_cast<int64_t>(d.bytes)));
  std::map<std::string, ZipEntry> entries;
  std::string_view left = directory;
  for (uint64_t k = 0; k < d.count; ++k) {
    if (left.size() < kEntryBytes || at<uint32_t>(left, 0) != kEntryMark)
      return damaged(file, fmt::format("entry {} of its table of contents is none", k));
    const uint16_t flags = at<uint16_t>(left, 8), method = at<uint16_t>(left, 10);
    uint64_t packed = at<uint32_t>(left, 20), size = at<uint32_t>(left, 24),
             offset = at<uint32_t>(left, 42);
    const size_t name = at<uint16_t>(left, 28), extra = at<uint16_t>(left, 30),
                 comment = at<uint16_t>(left, 32);
    if (left.size() < kEntryBytes + name + extra + comment)
      return damaged(file, fmt::format("entry {} of its table of contents is cut", k));
    const std::string path(left.substr(kEntryBytes, name));
    widen(left.substr(kEntryBytes + name, extra), size, packed, offset);
    left.remove_prefix(kEntryBytes + name + extra + comment);

    const std::string local = HONE_TRY(read_text(file, offset, kLocalBytes));
    if (at<uint32_t>(local, 0) != kLocalMark)
      return damaged(file, fmt::format("'{}' is not at its place in the table of contents", path));
    ZipEntry e;
    e.stored = method == 0 && (flags & 1) == 0 && packed == size;
    e.offset = static_cast<int64_t>(offset) + kLocalBytes + at<uint16_t>(local, 26) +
               at<uint16_t>(local, 28);
    if (e.offset > file.size() || packed > static_cast<uint64_t>(file.size() - e.offset))
      return damaged(file, fmt::format("'{}' has {} bytes at {} and the file only {}: is it cut?",
                                       path, packed, e.offset, file.size()));
    e.bytes = static_cast<int64_t>(packed);
    entries[path] = e;
  }
  return entries;
}

}  // namespace hone
