// Reads the bytes of a data file in order. A Source delivers the bytes of a file, a URL or memory. A ByteReader reads a
// Source byte by byte, and counts lines and columns; the parsers of text formats use it.
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

// Limits for data from unknown users, so that one file cannot take all memory or time. Exceeding one is error H2118.
struct ReadLimits {
  // The most bytes of one row in a text format.
  int64_t row_bytes = std::numeric_limits<int64_t>::max();
  // The most bytes of a file that is read into memory as a whole; for parquet and Arrow the most memory for reading.
  int64_t whole_bytes = std::numeric_limits<int64_t>::max();
  // Called at every read. If it returns true, reading ends with H2118. Null: reading is not stopped.
  std::function<bool()> stops = nullptr;
};

// A stream of bytes: a file, a URL, bytes in memory, or the unpacked or decoded bytes of another source.
class Source {
 public:
  virtual ~Source() = default;
  // Reads at most `size` bytes into `to` and returns their number, which may be less than `size`; 0 at the end.
  // Errors: H2102 the file cannot be read; H0116 a damaged compressed file; H2108 bytes that are not text in the stated
  // encoding (as_utf8); H2118 limits().stops returned true; those of the store.
  Result<int64_t> read(char* to, int64_t size);
  // Makes `offset` the offset of the next read. Returning to bytes of head() costs nothing as long as no later byte was
  // read. Other moves may start the source again from its first byte. Errors: H2102 the source cannot seek (a pipe).
  Status seek(int64_t offset);
  // The first kHeadBytes bytes of the source, or all if there are fewer. Call it only before the first read(). read()
  // still returns these bytes.
  Result<std::string_view> head();
  static constexpr size_t kHeadBytes = 4096;
  // For libraries that open files themselves. path() is the local path of a file, bytes() the contents of a
  // memory_source; both are empty for other sources. in_memory() turns an unpacked or decoded source into one with
  // bytes().
  virtual std::string path() const { return {}; }
  virtual std::string_view bytes() const { return {}; }
  // A reader of any part of a URL, which does not change the offset of read(). Owned by the source. Null if the source
  // is not a URL.
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
// Opens a local path or a URL. Errors: H2101 the path does not exist; H2102 it is a folder or cannot be opened; those
// of the store for URLs.
Result<std::unique_ptr<Source>> open_file_source(const std::string& path);
// A source of the given bytes. `name` appears in messages and decides the format (rows.h).
std::unique_ptr<Source> memory_source(std::string name, std::string bytes);

// If the first bytes show a compressed file that hone reads (gzip, zstd, bzip2, xz, zip), returns a source of the
// unpacked bytes, else `source` itself. Bytes are unpacked when they are read; a seek() back unpacks again from the
// start. Errors: H2104 the name ends like that of a compressed file but the bytes are not compressed; those of
// Source::head().
Result<std::unique_ptr<Source>> unpacked(std::unique_ptr<Source> source);
// Reads the rest of the source into a memory_source. Errors: H2118 the rest has more bytes than limits().whole_bytes;
// those of Source::read().
Result<std::unique_ptr<Source>> in_memory(std::unique_ptr<Source> source);

// Base of sources that can only produce their bytes in order, such as unpacked ones. A seek() forward reads and drops
// bytes; a seek() back calls restart().
class SequentialSource : public Source {
 protected:
  using Source::Source;
  // Produces the next bytes; arguments and result are as for Source::read().
  virtual Result<int64_t> make(char* to, int64_t size) = 0;
  // After restart(), make() produces the bytes from the first one on.
  virtual Status restart() = 0;

 private:
  Result<int64_t> read_more(char* to, int64_t size) final;
  Status move_to(int64_t offset) final;
  int64_t at_ = 0;
};

// A buffered reader that counts lines and columns. After an I/O error get() and peek() return kEnd and status() returns
// the error until the next seek(), so a parser can check status() once a row instead of once a byte.
class ByteReader {
 public:
  explicit ByteReader(std::unique_ptr<Source> source) : source_(std::move(source)) { begin_row(); }

  static constexpr int kEnd = -1;
  // Consumes the next byte and returns it (0 to 255); kEnd at the end or after an error.
  int get() {
    if (pos_ == buffer_.size() && !refill()) return kEnd;
    const char c = buffer_[pos_++];
    if (c == '\n') {
      ++line_;
      line_start_ = offset();
    }
    return static_cast<unsigned char>(c);
  }
  // The byte that is `ahead` bytes after the next one, not consumed; or kEnd.
  int peek(size_t ahead = 0) {
    while (pos_ + ahead >= buffer_.size()) {
      if (!refill()) return kEnd;
    }
    return static_cast<unsigned char>(buffer_[pos_ + ahead]);
  }
  // Consumes the bytes before the next `stop`, or all to the end, and appends them to `to`. True if `stop` was found;
  // it is then the next byte.
  bool take_until(char stop, std::string& to);
  // Starts a row at the next byte. Reading more than limits().row_bytes bytes before the next begin_row() fails with
  // H2118.
  void begin_row() {
    const int64_t most = source_->limits().row_bytes;
    row_end_ = offset() > std::numeric_limits<int64_t>::max() - most ? most : offset() + most;
  }
  void skip_bom();  // consumes a UTF-8 byte order mark if the reader is at offset 0

  // The place of the next byte: its offset (in bytes, 0-based), line (1-based; LF ends a line) and column (in bytes,
  // 1-based).
  int64_t offset() const { return base_ + static_cast<int64_t>(pos_); }
  int64_t line() const { return line_; }
  int64_t column() const { return offset() - line_start_ + 1; }
  // Makes the byte at `offset` the next one. The caller passes the line and column of that byte. Clears an earlier
  // error. Errors: those of Source::seek().
  Status seek(int64_t offset, int64_t line, int64_t column = 1);
  bool failed() const { return !status_.ok(); }
  Status status() const { return status_; }
  Source& source() { return *source_; }
  std::unique_ptr<Source> release() { return std::move(source_); }
  const std::string& name() const { return source_->name(); }
  // "file:line:column" for messages: here() of the next byte, place() of the given line and column.
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

// The index of the first byte that is not part of valid UTF-8 (RFC 3629); std::string_view::npos if there is none.
size_t find_bad_utf8(std::string_view text);

// The beginning of `text` for a message, on one line: at most about `limit` bytes. Control characters are escaped, such
// as a line break as "\n". Ends with "..." if the text was cut.
std::string preview(std::string_view text, size_t limit = 60);

}  // namespace hone
