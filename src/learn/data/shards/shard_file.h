// A file of rows (a shard): an Arrow IPC stream with one record batch, whose first column is input_ids, a list of
// int32. Any Arrow reader can read it, and hone maps it and uses the arrays in place.
//
//   schema message | batch message | arrays of each column | end-of-stream mark
//
// A column of lists has two arrays, offsets int32[rows + 1] and values int32[count]. A column of numbers has one array.
#pragma once

#include <span>
#include <string>
#include <variant>

#include "base/core/error.h"
#include "learn/data/rows/token_rows.h"

namespace hone {

// A column besides input_ids, to write.
struct RowColumn {
  std::string name;
  // For each row a list (TokenRows) or a number.
  std::variant<TokenRows, std::vector<int64_t>, std::vector<float>> rows;
};

// The places of the arrays of a column besides input_ids, in bytes from the start of the file; multiples of 64.
struct ShardColumn {
  std::string name;
  enum class Kind { kList, kInt64, kFloat } kind = Kind::kList;
  int64_t count = 0;       // number of values in all lists together; for numbers the number of rows
  int64_t offsets_at = 0;  // place of the array of offsets; only for lists
  int64_t values_at = 0;   // place of the array of values
  bool operator==(const ShardColumn&) const = default;
};
// Arrow's name of a kind: "list<int32>", "int64" or "float". kind_of is the inverse; none for any other name.
std::string kind_name(ShardColumn::Kind kind);
std::optional<ShardColumn::Kind> kind_of(const std::string& name);

// A shard as the manifest describes it.
struct ShardFile {
  std::string file;  // its name in its folder
  int64_t rows = 0, tokens = 0;
  int64_t bytes = 0;  // size of the file
  // The places of the arrays of input_ids, in bytes from the start of the file; multiples of 64.
  int64_t offsets_at = 0, ids_at = 0;
  std::vector<ShardColumn> beside;  // the other columns
  bool operator==(const ShardFile&) const = default;
};

// The bytes of a shard with rows [begin, end) of `rows` and of the other columns. Fills `shard`, except for `file`. No
// column may have 2^31 or more values. The same rows give the same bytes.
std::string shard_bytes(const TokenRows& rows, std::span<const RowColumn> beside, int64_t begin,
                        int64_t end, ShardFile& shard);

// A mapped shard. `ids` keeps the file mapped. beside[i] has the values of ShardFile::beside[i]; it is valid as long as
// `ids` exists.
struct MappedShard {
  RowsView ids;
  std::vector<std::variant<RowsView, std::span<const int64_t>, std::span<const float>>> beside;
};
// Maps the file read-only, and checks that the arrays are inside it and that the offsets ascend. Errors: H2132 the file
// does not agree with `shard`; H0117 the file changed while it was read.
Result<MappedShard> map_shard(const std::string& folder, const ShardFile& shard);

}  // namespace hone
