// A file that can be read from any offset: the interface through which all readers of checkpoints read. Files are read
// through a Store and never mapped into memory, so weights are in memory only once, in the caller's buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/core/error.h"
#include "base/store/store.h"

namespace hone {

class ByteFile {
 public:
  virtual ~ByteFile() = default;
  virtual int64_t size() const = 0;
  virtual const std::string& path() const = 0;  // for messages
  // Fills `out` with the bytes from `offset` on. If the file ends before `out` is full, returns H2202 or an Error of
  // the store. Thread-safe.
  virtual Status read_at(int64_t offset, std::span<std::byte> out) const = 0;
};

// Opens a file of a store. H2202: the path is a folder. Errors of the store.
Result<std::unique_ptr<ByteFile>> open_byte_file(const std::string& path,
                                                 Store& store = file_store());
// A file whose contents are `bytes`, for tests and fuzzers. `name`: its path().
std::unique_ptr<ByteFile> memory_byte_file(std::string name, std::string bytes);

}  // namespace hone
