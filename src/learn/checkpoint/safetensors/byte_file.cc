#include "learn/checkpoint/safetensors/byte_file.h"

#include <cstring>

#include "learn/checkpoint/safetensors/errors.h"

namespace hone {
namespace {

class StoredFile final : public ByteFile {
 public:
  StoredFile(std::string path, std::unique_ptr<Reader> reader)
      : path_(std::move(path)), reader_(std::move(reader)) {}
  int64_t size() const override { return reader_->bytes(); }
  const std::string& path() const override { return path_; }
  Status read_at(int64_t offset, std::span<std::byte> out) const override {
    return reader_->read(offset, out);
  }

 private:
  std::string path_;
  std::unique_ptr<Reader> reader_;
};

class MemoryFile final : public ByteFile {
 public:
  MemoryFile(std::string name, std::string bytes)
      : name_(std::move(name)), bytes_(std::move(bytes)) {}
  int64_t size() const override { return static_cast<int64_t>(bytes_.size()); }
  const std::string& path() const override { return name_; }
  Status read_at(int64_t offset, std::span<std::byte> out) const override {
    if (offset < 0 || offset > size() || static_cast<int64_t>(out.size()) > size() - offset)
      return Error(err::kWeightFileUnreadable,
                   fmt::format("'{}' has {} bytes; {} bytes at {} were requested", name_, size(),
                               out.size(), offset));
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return Ok{};
  }

 private:
  std::string name_;
  std::string bytes_;
};

}  // namespace

Result<std::unique_ptr<ByteFile>> open_byte_file(const std::string& path, Store& store) {
  if (HONE_TRY(store.info(path)).folder)
    return Error(err::kWeightFileUnreadable, fmt::format("'{}' is a folder, not a file", path))
        .todo("name the file in it");
  return std::unique_ptr<ByteFile>(std::make_unique<StoredFile>(path, HONE_TRY(store.open(path))));
}

std::unique_ptr<ByteFile> memory_byte_file(std::string name, std::string bytes) {
  return std::make_unique<MemoryFile>(std::move(name), std::move(bytes));
}

}  // namespace hone
