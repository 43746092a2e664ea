// The layout of Megatron-LM's token files (MMapIndexedDataset, megatron/core/datasets/indexed_dataset.py).
//
//   x.bin   the ids of all sequences, in the integer type that x.idx names
//   x.idx   "MMIDIDX\0\0" | version u64 = 1 | type u8 | sequences u64 | documents u64
//           | lengths i32[sequences]         the number of ids of each sequence
//           | places i64[sequences]          the byte of x.bin at which each sequence begins
//           | document_starts i64[documents] the first sequence of each document; the last entry equals `sequences`
//           | modes i8[sequences]            only in some files
//
// All numbers are little-endian.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"

namespace hone {

inline constexpr int64_t kMegatronHeaderBytes = 34;

// The type of the ids. The values are Megatron's codes in the file.
enum class MegatronType : uint8_t { kUint8 = 1, kInt8, kInt16, kInt32, kInt64, kUint16 = 8 };
int64_t bytes_of(MegatronType type);     // bytes of one id
std::string name_of(MegatronType type);  // NumPy's name, such as "uint16"
// The type that Megatron chooses for a vocabulary of this size: uint16 below 65,500, else int32.
MegatronType type_for(int64_t vocabulary);

struct MegatronIndex {
  MegatronType type = MegatronType::kInt32;
  // `documents` is the number of entries of document_starts, which is one more than the number of documents.
  int64_t sequences = 0, documents = 0;
  // The offsets in x.idx, in bytes, at which the arrays `lengths`, `places` and `document_starts` begin.

  int64_t lengths_at() const { return kMegatronHeaderBytes; }
  int64_t places_at() const { return lengths_at() + 4 * sequences; }
  int64_t documents_at() const { return places_at() + 8 * sequences; }
  int64_t bytes() const { return documents_at() + 8 * documents; }  // size of x.idx without modes
};

// The first kMegatronHeaderBytes bytes of x.idx.
std::string megatron_header(const MegatronIndex& index);
// Reads the first bytes of an x.idx of `file_bytes` bytes. `name` is the file in messages. Errors: H2119 the header is
// not Megatron's, or its numbers do not agree with the size of the file.
Result<MegatronIndex> parse_megatron_header(std::string_view header, int64_t file_bytes,
                                            const std::string& name);

// Returns `named` in order and without repeats. A file x.idx or x.bin is replaced by both files, x.idx and x.bin, if
// both exist.
std::vector<std::string> files_with_ids(const std::vector<std::string>& named);

// Error H2119 for the file `name`, with the reason `why`.
Error bad_megatron(const std::string& name, std::string why);

}  // namespace hone
