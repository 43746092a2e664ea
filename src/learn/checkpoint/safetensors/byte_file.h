// Bytes at an offset: the one way in which the readers of this room see a file. Read through a
// Store, never mapped, so weights are in memory only once: in the caller's buffer.
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
  // Fills `out` from byte `offset`; an Error when the file ends before. Thread-safe.
  virtual Status read_at(int64_t offset, std::span<std::byte> out) const = 0;
};

// A file of a store. H2202 when it is a folder; else the store's errors.
Result<std::unique_ptr<ByteFile>> open_byte_file(const std::string& path,
                                                 Store& store = file_store());
// Bytes held in memory under a name (tests, fuzzers).
std::unique_ptr<ByteFile> memory_byte_file(std::string name, std::string bytes);

}  // namespace hone
