// Finds the offsets of the files in a zip archive, so that files which are stored without compression can be read in
// place. Reference: PKWARE's APPNOTE.TXT, with its 64-bit records.
#pragma once

#include <map>
#include <string>

#include "learn/checkpoint/safetensors/byte_file.h"

namespace hone {

struct ZipEntry {
  int64_t offset = 0;  // of its contents, from the start of the archive
  int64_t bytes = 0;   // size in the archive
  bool stored = true;  // false: compressed or encrypted
};

bool is_zip(const ByteFile& file);  // whether it begins with the mark of a zip archive

// The files in the archive, by name. All of them are within the archive. H2207: the archive is damaged; the message
// names the fault.
Result<std::map<std::string, ZipEntry>> read_zip_entries(const ByteFile& file);

}  // namespace hone
