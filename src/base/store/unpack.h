// Decompresses files as a stream: gzip (RFC 1952), zstd (RFC 8878), bzip2, xz, and ZIP archives with one file. If a
// file has several compressed members one after another (as gzip, bzip2 and other tools allow), the result is all
// their contents joined. Zero bytes after the last member are ignored.
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

// The compression of a file by its first bytes, of which 10 are enough; kNone: not compressed.
Packing packing_of_bytes(std::string_view head);
// The compression of a file by its name: .gz or .gzip, .zst or .zstd, .bz2, .xz, .zip, in upper or lower case. kNone
// for other names.
Packing packing_of_name(std::string_view name);
std::string_view without_packing(std::string_view name);  // "train.csv.gz" -> "train.csv"
const char* packing_name(Packing packing);                // "gzip"

class UnpackCodec;  // unpack_codec.h

// Needs about 100 KiB of memory; for zstd also a window of at most 128 MiB, and for xz up to 512 MiB in all. A file
// that needs more is Error H0116.
class Unpacker {
 public:
  // Reads up to `size` compressed bytes into `to`. Returns their number; 0 at the end of the file.
  using Pull = std::function<Result<int64_t>(char* to, int64_t size)>;
  // `packing` is not kNone. `name` is the file's name for messages.
  Unpacker(Packing packing, std::string name, Pull pull);
  ~Unpacker();

  // Writes up to `size` (> 0) decompressed bytes to `to`. Returns their number; 0 at the end. If the file is damaged,
  // all bytes before the damage are returned first. Errors: H0116 if the file is cut off or damaged (with the offset),
  // or is a ZIP archive that unpack_zip.h does not support; errors of `pull`.
  Result<int64_t> read(char* to, int64_t size);

 private:
  Result<bool> pull_more();  // false at the end of the packed bytes
  Error damaged(const std::string& what) const;

  Packing packing_;
  std::string name_;
  Pull pull_;
  std::unique_ptr<UnpackCodec> codec_;
  std::string buffer_;
  std::string_view in_;           // the part of buffer_ that is not decompressed yet
  int64_t pulled_ = 0, out_ = 0;  // compressed bytes read, decompressed bytes returned
  bool inside_ = false;           // a member has started and has not ended
  bool members_ = false;          // at least one member has ended
  std::string why_;               // the codec's reason for a failure; "": none
  bool refused_ = false;
};

}  // namespace hone
