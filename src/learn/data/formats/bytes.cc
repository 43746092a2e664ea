#include "learn/data/formats/bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "learn/data/formats/errors.h"

namespace hone {
namespace {

constexpr int64_t kChunkBytes = 64 << 10;

class FileSource final : public Source {
 public:
  FileSource(std::string path, int fd) : Source(path), fd_(fd) {}
  ~FileSource() override { ::close(fd_); }

  Result<int64_t> read(char* to, int64_t size) override {
    for (;;) {
      const ssize_t got = ::read(fd_, to, static_cast<size_t>(size));
      if (got >= 0) return static_cast<int64_t>(got);
      if (errno == EINTR) continue;
      return Error(err::kDataRead, fmt::format("cannot read '{}': {}", name(), strerror(errno)));
    }
  }
  Status seek(int64_t offset) override {
    if (::lseek(fd_, offset, SEEK_SET) < 0) {
      return Error(err::kDataRead, fmt::format("cannot move to byte {} of '{}': {}", offset, name(),
                                               strerror(errno)))
          .todo("give a regular file, not a pipe");
    }
    return Ok{};
  }
  std::string path() const override { return name(); }
  std::string_view bytes() const override { return {}; }

 private:
  int fd_;
};

class MemorySource final : public Source {
 public:
  MemorySource(std::string name, std::string bytes)
      : Source(std::move(name)), bytes_(std::move(bytes)) {}
  Result<int64_t> read(char* to, int64_t size) override {
    const int64_t n = std::min<int64_t>(size, static_cast<int64_t>(bytes_.size()) - at_);
    if (n > 0) std::memcpy(to, bytes_.data() + at_, static_cast<size_t>(n));
    at_ += n;
    return n;
  }
  Status seek(int64_t offset) override {
    at_ = std::min<int64_t>(offset, static_cast<int64_t>(bytes_.size()));
    return Ok{};
  }
  std::string path() const override { return {}; }
  std::string_view bytes() const override { return bytes_; }

 private:
  std::string bytes_;
  int64_t at_ = 0;
};

}  // namespace

Result<std::unique_ptr<Source>> open_file_source(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    return Error(missing ? err::kDataMissing : err::kDataRead,
                 fmt::format("cannot open '{}': {}", path, strerror(errno)))
        .todo(missing ? "check the path; relative paths start at the folder you are in"
                      : "check the permissions of the file");
  }
  std::unique_ptr<Source> source = std::make_unique<FileSource>(path, fd);
  struct stat info {};
  if (::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    return Error(err::kDataRead, fmt::format("'{}' is a folder, not a data file", path))
        .todo(fmt::format("name its files, for example '{}/*.csv'", path));
  }
  return source;
}

std::unique_ptr<Source> memory_source(std::string name, std::string bytes) {
  return std::make_unique<MemorySource>(std::move(name), std::move(bytes));
}

bool ByteReader::refill() {
  if (at_end_ || failed()) return false;
  if (pos_ > 0) {
    base_ += static_cast<int64_t>(pos_);
    buffer_.erase(0, pos_);
    pos_ = 0;
  }
  const size_t had = buffer_.size();
  buffer_.resize(had + kChunkBytes);
  Result<int64_t> got = source_->read(buffer_.data() + had, kChunkBytes);
  buffer_.resize(had + (got.ok() ? static_cast<size_t>(*got) : 0));
  if (!got.ok()) status_ = std::move(got.error());
  if (got.ok() && *got == 0) at_end_ = true;
  return buffer_.size() > had;
}

bool ByteReader::take_until(char stop, std::string& to) {
  for (;;) {
    const char* begin = buffer_.data() + pos_;
    const size_t size = buffer_.size() - pos_;
    const char* found = size ? static_cast<const char*>(std::memchr(begin, stop, size)) : nullptr;
    const size_t n = found ? static_cast<size_t>(found - begin) : size;
    to.append(begin, n);
    for (const char* p = begin; p < begin + n;) {
      const char* lf =
          static_cast<const char*>(std::memchr(p, '\n', static_cast<size_t>(begin + n - p)));
      if (!lf) break;
      ++line_;
      line_start_ = offset() + (lf - begin) + 1;
      p = lf + 1;
    }
    pos_ += n;
    if (found) return true;
    if (!refill()) return false;
  }
}

void ByteReader::skip_bom() {
  if (offset() == 0 && peek(0) == 0xEF && peek(1) == 0xBB && peek(2) == 0xBF) {
    pos_ += 3;
    line_start_ = 3;
  }
}

Status ByteReader::seek(int64_t offset, int64_t line, int64_t column) {
  HONE_TRY(source_->seek(offset));
  buffer_.clear();
  pos_ = 0;
  base_ = offset;
  line_start_ = offset - (column - 1);
  line_ = line;
  at_end_ = false;
  status_ = Ok{};
  return Ok{};
}

std::string ByteReader::place(int64_t line, int64_t column) const {
  return fmt::format("{}:{}:{}", name(), line, column);
}

size_t find_bad_utf8(std::string_view text) {
  const auto* s = reinterpret_cast<const unsigned char*>(text.data());
  const size_t n = text.size();
  for (size_t i = 0; i < n;) {
    if (i + 8 <= n) {  // eight ASCII bytes at a time
      uint64_t word;
      std::memcpy(&word, s + i, 8);
      if (!(word & 0x8080808080808080ull)) {
        i += 8;
        continue;
      }
    }
    const unsigned c = s[i];
    if (c < 0x80) {
      ++i;
      continue;
    }
    const size_t extra = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
    if (c < 0xC2 || c > 0xF4 || i + extra >= n) return i;
    // The second byte's range excludes overlong forms, surrogates and values above U+10FFFF.
    const unsigned low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    const unsigned high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    if (s[i + 1] < low || s[i + 1] > high) return i;
    for (size_t k = 2; k <= extra; ++k) {
      if ((s[i + k] & 0xC0) != 0x80) return i;
    }
    i += extra + 1;
  }
  return std::string_view::npos;
}

Status check_utf8(std::string_view text, const std::string& file, int64_t line, int64_t column) {
  const size_t bad = find_bad_utf8(text);
  if (bad == std::string_view::npos) return Ok{};
  for (size_t i = 0; i < bad; ++i, ++column) {
    if (text[i] == '\n') {
      ++line;
      column = 0;
    }
  }
  return Error(err::kNotUtf8, fmt::format("byte 0x{:02X} is not UTF-8 text",
                                          static_cast<unsigned char>(text[bad])))
      .at(fmt::format("{}:{}:{}", file, line, column))
      .todo(fmt::format(
          "convert the file first, for example: iconv -f WINDOWS-1252 -t UTF-8 {} > new", file));
}

std::string preview(std::string_view text, size_t limit) {
  std::string out;
  size_t i = 0;
  for (; i < text.size() && out.size() < limit; ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (c < 0x20)
      out += fmt::format("\\x{:02x}", c);
    else
      out += static_cast<char>(c);
  }
  while (i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) out += text[i++];
  if (i < text.size()) out += "...";
  return out;
}

}  // namespace hone
