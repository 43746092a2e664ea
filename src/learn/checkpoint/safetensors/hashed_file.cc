#include "learn/checkpoint/safetensors/hashed_file.h"

#include <algorithm>

namespace hone {

Result<HashedFile> HashedFile::create(const std::string& path, Store& store) {
  return HashedFile(HONE_TRY(store.create(path)));
}

Status HashedFile::write(std::span<const std::byte> bytes) {
  constexpr size_t kPiece = size_t{1}
                            << 20;  // small enough that the second visit finds it in the cache
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), kPiece));
    hash_.update(piece);
    size_ += static_cast<int64_t>(piece.size());
    HONE_TRY(writer_->write(piece));
    bytes = bytes.subspan(piece.size());
  }
  return Ok{};
}

}  // namespace hone
