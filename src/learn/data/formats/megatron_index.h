// Layout of Megatron-LM's token files (MMapIndexedDataset, megatron/core/datasets/indexed_dataset.py).
//
//   x.bin   the ids of all sequences, in one type
//   x.idx   "MMIDIDX\0\0" | version u64 = 1 | type u8 | sequences u64 | documents u64
//           | lengths i32[sequences], in ids | places i64[sequences], in bytes of x.bin
//           | document_starts i64[documents], numbers of sequences, the last = sequences
//           | modes i8[sequences], of some files
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

// The type of the ids, by Megatron's number of it.
enum class MegatronType : uint8_t { kUint8 = 1, kInt8, kInt16, kInt32, kInt64, kUint16 = 8 };
int64_t bytes_of(MegatronType type);
std::string name_of(MegatronType type);  // NumPy's: "uint16"
// The type that Megatron takes for ids below `vocabulary`: uint16 if it is less than 65,500.
MegatronType type_for(int64_t vocabulary);

struct MegatronIndex {
  MegatronType type = MegatronType::kInt32;
  int64_t sequences = 0, documents = 0;

  int64_t lengths_at() const { return kMegatronHeaderBytes; }
  int64_t places_at() const { return lengths_at() + 4 * sequences; }
  int64_t documents_at() const { return places_at() + 8 * sequences; }
  int64_t bytes() const { return documents_at() + 8 * documents; }  // of the file without modes
};

std::string megatron_header(const MegatronIndex& index);
// The index that begins with `header`, in a file of `file_bytes`. H2119: its numbers do not belong to
// such a file. `name` appears in messages.
Result<MegatronIndex> parse_megatron_header(std::string_view header, int64_t file_bytes,
                                            const std::string& name);

// All files that the readers of the named ones read: an index comes with its ids, ids with their index.
std::vector<std::string> files_with_ids(const std::vector<std::string>& named);

// H2119 for the file `name`.
Error bad_megatron(const std::string& name, std::string why);

}  // namespace hone
