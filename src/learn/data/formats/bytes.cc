#include "learn/data/formats/bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/core/text.h"
#include "base/store/store.h"
#include "base/store/unpack.h"
#include "learn/data/formats/errors.h"

namespace hone {
namespace {

constexpr int64_t kChunkBytes = 64 << 10;

class FileSource final : public Source {
 public:
  FileSource(std::string path, int fd) : Source(path), fd_(fd) {}
  ~FileSource() override { ::close(fd_); }
  std::string path() const override { return name(); }

 private:
  Result<int64_t> read_more(char* to, int64_t size) override {
    for (;;) {
      const ssize_t got = ::read(fd_, to, static_cast<size_t>(size));
      if (got >= 0) return static_cast<int64_t>(got);
      if (errno == EINTR) continue;
      return Error(err::kDataRead, fmt::format("cannot read '{}': {}", name(), strerror(errno)));
    }
  }
  Status move_to(int64_t offset) override {
    if (::lseek(fd_, offset, SEEK_SET) < 0) {
      return Error(err::kDataRead, fmt::format("cannot move to byte {} of '{}': {}", offset, name(),
                                               strerror(errno)))
          .todo("give a regular file, not a pipe");
    }
    return Ok{};
  }

  int fd_;
};

// A URL, read ahead by its store.
class StoreSource final : public Source {
 public:
  StoreSource(std::string url, std::unique_ptr<Reader> reader)
      : Source(std::move(url)), reader_(std::move(reader)) {}
  Reader* ranges() override { return reader_.get(); }

 private:
  Result<int64_t> read_more(char* to, int64_t size) override {
    const int64_t n = std::min(size, reader_->bytes() - at_);
    if (n <= 0) return int64_t{0};
    HONE_TRY(reader_->read(at_, std::as_writable_bytes(std::span(to, static_cast<size_t>(n)))));
    at_ += n;
    return n;
  }
  Status move_to(int64_t offset) override {
    at_ = std::min(offset, reader_->bytes());
    return Ok{};
  }

  std::unique_ptr<Reader> reader_;
  int64_t at_ = 0;
};

class MemorySource final : public Source {
 public:
  MemorySource(std::string name, std::string bytes)
      : Source(std::move(name)), bytes_(std::move(bytes)) {}
  std::string_view bytes() const override { return bytes_; }

 private:
  Result<int64_t> read_more(char* to, int64_t size) override {
    const int64_t n = std::min<int64_t>(size, static_cast<int64_t>(bytes_.size()) - at_);
    if (n > 0) std::memcpy(to, bytes_.data() + at_, static_cast<size_t>(n));
    at_ += n;
    return n;
  }
  Status move_to(int64_t offset) override {
    at_ = std::min<int64_t>(offset, static_cast<int64_t>(bytes_.size()));
    return Ok{};
  }

  std::string bytes_;
  int64_t at_ = 0;
};

class UnpackedSource final : public SequentialSource {
 public:
  UnpackedSource(Packing packing, std::unique_ptr<Source> packed)
      : SequentialSource(packed->name()), packing_(packing), packed_(std::move(packed)) {
    begin();
  }

 private:
  Result<int64_t> make(char* to, int64_t size) override { return unpacker_->read(to, size); }
  Status restart() override {
    HONE_TRY(packed_->seek(0));
    begin();
    return Ok{};
  }
  void begin() {
    unpacker_ = std::make_unique<Unpacker>(
        packing_, name(),
        [this](char* to, int64_t size) -> Result<int64_t> { return packed_->read(to, size); });
  }

  Packing packing_;
  std::unique_ptr<Source> packed_;
  std::unique_ptr<Unpacker> unpacker_;
};

}  // namespace

Result<int64_t> Source::read(char* to, int64_t size) {
  if (limits_.stops && limits_.stops())
    return Error(err::kDataLimit, fmt::format("reading '{}' was stopped", name_)).todo("ask again");
  if (head_at_ < head_.size()) {
    const size_t n = head_.copy(to, static_cast<size_t>(size), head_at_);
    head_at_ += n;
    return static_cast<int64_t>(n);
  }
  behind_head_ = true;
  return read_more(to, size);
}

Status Source::seek(int64_t offset) {
  if (!behind_head_ && offset <= static_cast<int64_t>(head_.size())) {
    head_at_ = static_cast<size_t>(offset);
    return Ok{};
  }
  head_at_ = head_.size();
  behind_head_ = true;
  return move_to(offset);
}

Result<std::string_view> Source::head() {
  while (head_.size() < kHeadBytes) {
    const size_t had = head_.size();
    head_.resize(kHeadBytes);
    Result<int64_t> n = read_more(head_.data() + had, static_cast<int64_t>(kHeadBytes - had));
    head_.resize(had + (n.ok() ? static_cast<size_t>(*n) : 0));
    // Bytes before a damaged place are returned first; the next read meets the damage again.
    if (!n.ok() && had == 0) return std::move(n.error());
    if (!n.ok() || *n == 0) break;
  }
  return std::string_view(head_);
}

Result<int64_t> SequentialSource::read_more(char* to, int64_t size) {
  const int64_t n = HONE_TRY(make(to, size));
  at_ += n;
  return n;
}

Status SequentialSource::move_to(int64_t offset) {
  if (offset < at_) {
    HONE_TRY(restart());
    at_ = 0;
  }
  std::string skipped(static_cast<size_t>(std::min(offset - at_, kChunkBytes)), '\0');
  while (at_ < offset) {
    const int64_t n = std::min<int64_t>(offset - at_, static_cast<int64_t>(skipped.size()));
    if (HONE_TRY(read_more(skipped.data(), n)) == 0) break;
  }
  return Ok{};
}

Result<std::unique_ptr<Source>> unpacked(std::unique_ptr<Source> source) {
  const std::string_view head = HONE_TRY(source->head());
  const Packing packing = packing_of_bytes(head);
  if (packing != Packing::kNone) {
    return std::unique_ptr<Source>(std::make_unique<UnpackedSource>(packing, std::move(source)));
  }
  if (const Packing named = packing_of_name(source->name()); named != Packing::kNone) {
    return Error(err::kDataCompressed, head.empty()
                                           ? fmt::format("'{}' is empty", source->name())
                                           : fmt::format("'{}' does not begin as {} data do",
                                                         source->name(), packing_name(named)))
        .at(fmt::format("{}:1:1", source->name()))
        .todo(fmt::format("get the file again; if it is not compressed, name it '{}'",
                          without_packing(source->name())));
  }
  return source;
}

Result<std::unique_ptr<Source>> in_memory(std::unique_ptr<Source> source) {
  std::string bytes;
  for (;;) {
    const size_t had = bytes.size();
    bytes.resize(had + (1 << 20));
    const int64_t n = HONE_TRY(source->read(bytes.data() + had, 1 << 20));
    bytes.resize(had + static_cast<size_t>(n));
    if (std::ssize(bytes) > source->limits().whole_bytes)
      return Error(err::kDataLimit, fmt::format("'{}' holds more than {}", source->name(),
                                                format_bytes(source->limits().whole_bytes)))
          .todo("unpack the file: then only parts of it are read");
    if (n == 0) return memory_source(source->name(), std::move(bytes));
  }
}

Result<std::unique_ptr<Source>> open_file_source(const std::string& path) {
  if (path.find("://") != std::string::npos) {
    std::unique_ptr<Reader> reader = HONE_TRY(file_store().open(path));
    return std::unique_ptr<Source>(new StoreSource(path, std::move(reader)));
  }
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
  if (const int64_t read = base_ + static_cast<int64_t>(had); read > row_end_) {
    status_ = Error(err::kDataLimit, fmt::format("the row has more than {}",
                                                 format_bytes(source_->limits().row_bytes)))
                  .at(here())
                  .todo("show a file with shorter rows; one that lacks line breaks is one row");
    return false;
  }
  buffer_.resize(had + kChunkBytes);
  Result<int64_t> got = source_->read(buffer_.data() + had, kChunkBytes);
  buffer_.resize(had + (got.ok() ? static_cast<size_t>(*got) : 0));
  if (!got.ok()) status_ = std::move(got.error()).at(here());
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
  line_start_ = offset - (column - 1);
  line_ = line;
  if (offset >= base_ && offset <= base_ + static_cast<int64_t>(buffer_.size()) && !failed()) {
    pos_ = static_cast<size_t>(offset - base_);
    return Ok{};
  }
  HONE_TRY(source_->seek(offset));
  buffer_.clear();
  pos_ = 0;
  base_ = offset;
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
