// Bytes of a data file in order: where they come from (Source) and the reader over them that
// formats are written against (ByteReader).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/error.h"

namespace hone {

class Reader;  // base/store/store.h

// Limits of a reader of data that strangers made.
struct ReadLimits {
  int64_t row_bytes = std::numeric_limits<int64_t>::max();    // of one row of text
  int64_t whole_bytes = std::numeric_limits<int64_t>::max();  // of a file read whole, or by columns
  std::function<bool()> stops = nullptr;  // asked at every read; true: reading ends with H2118
};

// A run of bytes: a file, bytes in memory that a Store brought, or bytes made from another source's
// (unpacked, decoded).
class Source {
 public:
  virtual ~Source() = default;
  // Up to `size` bytes at the current place; 0 at the end. Errors: H2102, H0116, H2108, H2118.
  Result<int64_t> read(char* to, int64_t size);
  // Free within the bytes that head() holds, as long as none after them were read.
  Status seek(int64_t offset);
  // The first bytes, kHeadBytes or all there are. Only before the first read.
  Result<std::string_view> head();
  static constexpr size_t kHeadBytes = 4096;
  // For libraries that read by themselves: the local path, or empty and bytes() instead. Sources
  // that are made while they are read have neither: see in_memory().
  virtual std::string path() const { return {}; }
  virtual std::string_view bytes() const { return {}; }
  // Reads parts of a URL and leaves the place of read() as it is; null for other sources.
  virtual Reader* ranges() { return nullptr; }
  const std::string& name() const { return name_; }  // as the user typed it
  void limit(const ReadLimits& limits) { limits_ = limits; }
  const ReadLimits& limits() const { return limits_; }

 protected:
  explicit Source(std::string name) : name_(std::move(name)) {}
  virtual Result<int64_t> read_more(char* to, int64_t size) = 0;
  virtual Status move_to(int64_t offset) = 0;

 private:
  std::string name_;
  ReadLimits limits_;
  std::string head_;
  size_t head_at_ = 0;
  bool behind_head_ = false;
};
Result<std::unique_ptr<Source>> open_file_source(const std::string& path);  // H2101, H2102
std::unique_ptr<Source> memory_source(std::string name, std::string bytes);

// The source itself, or its unpacked content if its first bytes are those of a gzip, zstd, bzip2 or
// xz file. Streams; going back unpacks again from the start. Errors: H2104 when the name promises a
// compression that the bytes are not of.
Result<std::unique_ptr<Source>> unpacked(std::unique_ptr<Source> source);
// The rest of the source, as a memory_source. H2118: it is more than its limits allow.
Result<std::unique_ptr<Source>> in_memory(std::unique_ptr<Source> source);

// A source that makes its bytes in order: moving forward reads, moving back starts again.
class SequentialSource : public Source {
 protected:
  using Source::Source;
  virtual Result<int64_t> make(char* to, int64_t size) = 0;
  virtual Status restart() = 0;

 private:
  Result<int64_t> read_more(char* to, int64_t size) final;
  Status move_to(int64_t offset) final;
  int64_t at_ = 0;
};

// Buffered reader with line and column. I/O errors are sticky: get() then gives -1 and status()
// the error, so that parsers check once per row and not once per byte.
class ByteReader {
 public:
  explicit ByteReader(std::unique_ptr<Source> source) : source_(std::move(source)) { begin_row(); }

  static constexpr int kEnd = -1;
  int get() {  // next byte, or kEnd
    if (pos_ == buffer_.size() && !refill()) return kEnd;
    const char c = buffer_[pos_++];
    if (c == '\n') {
      ++line_;
      line_start_ = offset();
    }
    return static_cast<unsigned char>(c);
  }
  int peek(size_t ahead = 0) {  // the byte `ahead` of the next one, not consumed
    while (pos_ + ahead >= buffer_.size()) {
      if (!refill()) return kEnd;
    }
    return static_cast<unsigned char>(buffer_[pos_ + ahead]);
  }
  // Appends to `to` the bytes up to `stop` (not consumed) or the end; true when `stop` was found.
  bool take_until(char stop, std::string& to);
  // Bytes from here on count for a row: reading more than the source's limit of a row is H2118.
  void begin_row() {
    const int64_t most = source_->limits().row_bytes;
    row_end_ = offset() > std::numeric_limits<int64_t>::max() - most ? most : offset() + most;
  }
  void skip_bom();  // the UTF-8 byte order mark, at offset 0 only

  int64_t offset() const { return base_ + static_cast<int64_t>(pos_); }
  int64_t line() const { return line_; }                         // 1-based, counted by LF
  int64_t column() const { return offset() - line_start_ + 1; }  // in bytes, 1-based
  Status seek(int64_t offset, int64_t line, int64_t column = 1);
  bool failed() const { return !status_.ok(); }
  Status status() const { return status_; }
  Source& source() { return *source_; }
  std::unique_ptr<Source> release() { return std::move(source_); }
  const std::string& name() const { return source_->name(); }
  // "file:line:column" of the next byte, or of the given place.
  std::string here() const { return place(line_, column()); }
  std::string place(int64_t line, int64_t column) const;

 private:
  bool refill();  // more bytes after buffer_; drops those consumed

  std::unique_ptr<Source> source_;
  std::string buffer_;
  size_t pos_ = 0;
  int64_t base_ = 0;     // offset of buffer_[0]
  int64_t row_end_ = 0;  // offset
  int64_t line_ = 1;
  int64_t line_start_ = 0;
  bool at_end_ = false;
  Status status_ = Ok{};
};

// Index of the first byte that is not part of valid UTF-8 (RFC 3629), or npos.
size_t find_bad_utf8(std::string_view text);

// `text` for a message: one line, at most `limit` characters, cut ends marked by "...".
std::string preview(std::string_view text, size_t limit = 60);

}  // namespace hone
