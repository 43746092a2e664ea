#include "learn/data/images/tar_index.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "learn/data/images/errors.h"

namespace hone {
namespace {

constexpr int64_t kBlock = 512;
constexpr int64_t kMostHeaderBytes = 1 << 20;  // of long names and pax records

using Block = std::array<char, kBlock>;

// Text of a field, up to its first zero.
std::string_view field(const Block& b, size_t at, size_t size) {
  const std::string_view whole(b.data() + at, size);
  return whole.substr(0, whole.find('\0'));
}

// Octal digits, or GNU's base 256; -1: neither.
int64_t number_field(const Block& b, size_t at, size_t size) {
  if ((b[at] & 0x80) != 0) {
    int64_t value = b[at] & 0x3f;
    for (size_t i = 1; i < size; ++i) {
      if (value >> 54 != 0) return -1;
      value = value << 8 | static_cast<unsigned char>(b[at + i]);
    }
    return value;
  }
  int64_t value = 0;
  bool digits = false;
  for (const char c : field(b, at, size)) {
    if (c == ' ') continue;
    if (c < '0' || c > '7' || value >> 58 != 0) return -1;
    value = value * 8 + (c - '0');
    digits = true;
  }
  return digits ? value : -1;
}

bool has_its_checksum(const Block& b) {
  constexpr size_t kAt = 148, kSize = 8;
  int64_t sum = 0;
  for (size_t i = 0; i < b.size(); ++i)
    sum += i >= kAt && i < kAt + kSize ? ' ' : static_cast<unsigned char>(b[i]);
  return number_field(b, kAt, kSize) == sum;
}

// The value of a key in pax records, "LENGTH KEY=VALUE\n" each; "" if there is none.
std::string pax_value(std::string_view records, std::string_view key) {
  std::string found;
  while (!records.empty()) {
    size_t length = 0;
    const char* const end = records.data() + records.size();
    const auto [at, failed] = std::from_chars(records.data(), end, length);
    if (failed != std::errc() || length > records.size() || length < 4) break;
    const std::string_view record(at, static_cast<size_t>(records.data() + length - at));
    records.remove_prefix(length);
    if (record.size() < 3 || record.front() != ' ' || record.back() != '\n') break;
    const std::string_view pair = record.substr(1, record.size() - 2);
    if (const size_t is = pair.find('='); pair.substr(0, is) == key && is != pair.npos)
      found = pair.substr(is + 1);
  }
  return found;
}

}  // namespace

Result<std::optional<TarEntry>> TarWalk::next() {
  Block b{};
  while (at_ + kBlock <= file_.bytes()) {
    HONE_TRY(file_.read(at_, std::as_writable_bytes(std::span(b))));
    if (std::all_of(b.begin(), b.end(), [](char c) { return c == 0; })) break;
    if (!has_its_checksum(b)) return bad("the checksum of a header is wrong");
    int64_t bytes = number_field(b, 124, 12);
    const char type = b[156];
    const bool is_file = type == '0' || type == '\0' || type == '7';
    if (is_file && size_ >= 0) bytes = size_;
    if (bytes < 0 || bytes > file_.bytes() - at_ - kBlock)
      return bad("a file in it ends after the archive");
    const int64_t content = at_ + kBlock;
    const bool is_header = type == 'L' || type == 'x';
    if (is_header) HONE_TRY(read_header(type, content, bytes));
    at_ = content + (bytes + kBlock - 1) / kBlock * kBlock;
    if (is_header) continue;
    std::string name(field(b, 0, 100));
    const std::string_view prefix = field(b, 345, 155);
    if (field(b, 257, 5) == "ustar" && b[262] == '\0' && !prefix.empty())
      name = fmt::format("{}/{}", prefix, name);
    if (!long_name_.empty()) name = std::move(long_name_);
    long_name_.clear();
    size_ = -1;
    if (is_file) return std::optional(TarEntry{std::move(name), content, bytes});
  }
  return std::optional<TarEntry>();
}

Error TarWalk::bad(const std::string& why) const {
  return Error(err::kTar, fmt::format("'{}' is not a whole tar archive: {}", name_, why))
      .at(fmt::format("byte {}", at_))
      .todo("get the file again from its source");
}

Status TarWalk::read_header(char type, int64_t at, int64_t bytes) {
  if (bytes > kMostHeaderBytes) return bad("a name has more than 1 MiB");
  std::string text(static_cast<size_t>(bytes), '\0');
  HONE_TRY(file_.read(at, std::as_writable_bytes(std::span(text))));
  if (type == 'L') {
    long_name_ = text.substr(0, text.find('\0'));
    return Ok{};
  }
  if (std::string path = pax_value(text, "path"); !path.empty()) long_name_ = std::move(path);
  const std::string size = pax_value(text, "size");
  if (size.empty()) return Ok{};
  const auto [end, failed] = std::from_chars(size.data(), size.data() + size.size(), size_);
  if (failed != std::errc() || size_ < 0) return bad("a size is not a number");
  return Ok{};
}

Result<std::vector<TarEntry>> list_tar(Reader& file, const std::string& name) {
  TarWalk walk(file, name);
  std::vector<TarEntry> entries;
  while (std::optional<TarEntry> e = HONE_TRY(walk.next())) entries.push_back(std::move(*e));
  if (entries.empty() && walk.at() + kBlock > file.bytes()) return walk.bad("it holds no file");
  return entries;
}

}  // namespace hone
