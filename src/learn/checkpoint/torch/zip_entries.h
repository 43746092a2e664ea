// Offsets of the files in a zip archive, so that stored (uncompressed) ones are read in place.
// Reference: PKWARE's APPNOTE.TXT, with the 64-bit records.
#pragma once

#include <map>
#include <string>

#include "learn/checkpoint/safetensors/byte_file.h"

namespace hone {

struct ZipEntry {
  int64_t offset = 0;  // of its bytes, from the start of the archive
  int64_t bytes = 0;   // as they are there
  bool stored = true;  // false: compressed or encrypted
};

bool is_zip(const ByteFile& file);  // begins as an archive

// By name. Every entry is within the file. H2207 names what is wrong.
Result<std::map<std::string, ZipEntry>> read_zip_entries(const ByteFile& file);

}  // namespace hone
