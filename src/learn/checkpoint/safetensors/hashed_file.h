// Writes a file to a store and computes its checksum meanwhile, for the manifest of a checkpoint. After commit() the
// file is complete and durable; without commit() no file is left. Errors: those of the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/store/store.h"
#include "learn/checkpoint/safetensors/xxh64.h"

namespace hone {

class HashedFile {
 public:
  static Result<HashedFile> create(const std::string& path, Store& store = file_store());

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  Status commit() { return writer_->commit(); }

  int64_t size() const { return size_; }              // bytes written
  uint64_t digest() const { return hash_.digest(); }  // XXH64 of the bytes written

 private:
  explicit HashedFile(std::unique_ptr<Writer> writer) : writer_(std::move(writer)) {}
  std::unique_ptr<Writer> writer_;
  int64_t size_ = 0;
  Xxh64 hash_;
};

}  // namespace hone
