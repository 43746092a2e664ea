// Compressed files as a stream: gzip (RFC 1952), zstd (RFC 8878), bzip2, xz, and ZIP archives of
// one file. Several members in a row are one file, as in the tools that write them; zero bytes
// after the last one are padding.
//   Unpacker unpacker(Packing::kGzip, "train.csv.gz", [&](char* to, int64_t size) { ... });
//   int64_t n = HONE_TRY(unpacker.read(buffer, sizeof buffer));   // 0 at the end
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/error.h"

namespace hone {

enum class Packing { kNone, kGzip, kZstd, kBzip2, kXz, kZip };

// From the first bytes of a file; 10 are enough.
Packing packing_of_bytes(std::string_view head);
// From the end of its name, in any case: .gz .gzip, .zst .zstd, .bz2, .xz, .zip.
Packing packing_of_name(std::string_view name);
std::string_view without_packing(std::string_view name);  // "train.csv.gz" -> "train.csv"
const char* packing_name(Packing packing);                // "gzip"

class UnpackCodec;  // unpack_codec.h

// Memory: a window of at most 128 MiB (zstd) or 512 MiB (xz), else some 100 KiB; a file that needs
// more is an error.
class Unpacker {
 public:
  // Returns up to `size` packed bytes, 0 at their end.
  using Pull = std::function<Result<int64_t>(char* to, int64_t size)>;
  // `name` is for messages.
  Unpacker(Packing packing, std::string name, Pull pull);
  ~Unpacker();

  // Returns up to `size` (> 0) unpacked bytes, 0 at the end. All bytes before a damaged place come
  // first. Errors: H0116 with the byte for a file that is cut off or damaged, and for an archive
  // with other content; pull's own.
  Result<int64_t> read(char* to, int64_t size);

 private:
  Result<bool> pull_more();  // false at the end of the packed bytes
  Error damaged(const std::string& what) const;

  Packing packing_;
  std::string name_;
  Pull pull_;
  std::unique_ptr<UnpackCodec> codec_;
  std::string buffer_;
  std::string_view in_;           // unused part of buffer_
  int64_t pulled_ = 0, out_ = 0;  // bytes so far
  bool inside_ = false;           // inside a member
  bool members_ = false;          // at least one member ended
  std::string why_;               // error of the codec
  bool refused_ = false;
};

}  // namespace hone
