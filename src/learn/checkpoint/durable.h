// A file written once from its beginning, hashed on the way: it stands under its name, durable and
// whole, when commit() returns Ok; without commit nothing is left. Failures are those of the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/store/store.h"
#include "learn/checkpoint/xxh64.h"

namespace hone {

class DurableFile {
 public:
  static Result<DurableFile> create(const std::string& path, Store& store = file_store());

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  Status commit() { return writer_->commit(); }
  Status sync_and_close() { return commit(); }

  int64_t size() const { return size_; }
  uint64_t digest() const { return hash_.digest(); }  // XXH64 of what was written

 private:
  explicit DurableFile(std::unique_ptr<Writer> writer) : writer_(std::move(writer)) {}
  std::unique_ptr<Writer> writer_;
  int64_t size_ = 0;
  Xxh64 hash_;
};

inline Status make_folder(const std::string& path) { return file_store().make_dirs(path); }
inline Status rename_path(const std::string& from, const std::string& to) {
  return file_store().rename(from, to);
}
inline Status write_file_atomically(const std::string& path, std::string_view text) {
  return file_store().write(path, text);
}
inline Status sync_folder(const std::string&) { return Ok{}; }

}  // namespace hone
