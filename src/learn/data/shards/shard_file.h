// One file of rows: an Arrow IPC stream of one batch, whose first column is input_ids, a list of
// int32. Any Arrow reader reads it, and it can be mapped and used in place.
//
//   schema message | batch message | arrays of each column | end mark
//
// A list column is two arrays, offsets int32[rows + 1] and ids int32[count]; a number column is one.
#pragma once

#include <span>
#include <string>
#include <variant>

#include "base/core/error.h"
#include "learn/data/rows/token_rows.h"

namespace hone {

// A column beside input_ids, as it is written.
struct RowColumn {
  std::string name;
  std::variant<TokenRows, std::vector<int64_t>, std::vector<float>>
      rows;  // a list or a number each
};

// Offsets of the arrays of a column beside input_ids, at multiples of 64.
struct ShardColumn {
  std::string name;
  enum class Kind { kList, kInt64, kFloat } kind = Kind::kList;
  int64_t count = 0;       // ids of all rows, or rows
  int64_t offsets_at = 0;  // of a list
  int64_t values_at = 0;
  bool operator==(const ShardColumn&) const = default;
};
// Arrow's name: "list<int32>", "int64" or "float". kind_of: none for another name.
std::string kind_name(ShardColumn::Kind kind);
std::optional<ShardColumn::Kind> kind_of(const std::string& name);

// Offsets of the arrays; both are multiples of 64.
struct ShardFile {
  std::string file;  // name in its folder
  int64_t rows = 0, tokens = 0;
  int64_t bytes = 0;  // of the file
  int64_t offsets_at = 0, ids_at = 0;
  std::vector<ShardColumn> beside;
  bool operator==(const ShardFile&) const = default;
};

// Rows [begin, end) of `rows` and of the columns beside it; fewer than 2^31 ids in each. The same
// rows give the same bytes.
std::string shard_bytes(const TokenRows& rows, std::span<const RowColumn> beside, int64_t begin,
                        int64_t end, ShardFile& shard);

// Valid while `ids` is: it keeps the file mapped.
struct MappedShard {
  RowsView ids;
  std::vector<std::variant<RowsView, std::span<const int64_t>, std::span<const float>>> beside;
};
// Maps the file, read only, and checks that the arrays are in it and that the offsets ascend.
// Errors: H2132, H0117.
Result<MappedShard> map_shard(const std::string& folder, const ShardFile& shard);

}  // namespace hone
